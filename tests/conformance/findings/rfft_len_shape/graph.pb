
0
inputPlaceholder*
shape:*
dtype0
5

fft_lengthPlaceholder*
shape:*
dtype0
<
RFFTRFFTinput
fft_length*
Treal0*
Tcomplex0"ª