
>
xPlaceholder*
shape:*
dtype0

SinSinx*
T0
y
	MaxPool3D	MaxPool3DSin*
paddingSAME*
strides	
*
data_formatNDHWC*
ksize	
*
T0

mulMulxx*
T0

mul_1Mulmulx*
T0
{
	AvgPool3D	AvgPool3Dmul_1*
paddingSAME*
strides	
*
data_formatNDHWC*
ksize	
*
T0
+
mul_2Mul	MaxPool3D	MaxPool3D*
T0
+
mul_3Mul	AvgPool3D	AvgPool3D*
T0"ª