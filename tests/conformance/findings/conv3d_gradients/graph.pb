
>
xPlaceholder*
shape:*
dtype0
>
wPlaceholder*
shape:*
dtype0
x
Conv3DConv3Dxw*
	dilations	
*
strides	
*
data_formatNDHWC*
T0*
paddingSAME

SinSinConv3D*
T0"ª