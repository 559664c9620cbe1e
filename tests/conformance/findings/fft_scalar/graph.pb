
0
inputPlaceholder*
shape:*
dtype0
!
FFTFFTinput*
Tcomplex0"ª