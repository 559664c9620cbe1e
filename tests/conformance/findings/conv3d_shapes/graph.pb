
,
xPlaceholder*
dtype0*
shape:
,
wPlaceholder*
shape:*
dtype0
y
Conv3DConv3Dxw*
T0*
strides	
*
data_formatNDHWC*
	dilations	
*
paddingVALID"ª