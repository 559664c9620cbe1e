
3
input0Placeholder*
shape:*
dtype0
8
fft_length0Placeholder*
shape:*
dtype0
>
RFFTRFFTinput0fft_length0*
Treal0*
Tcomplex0
1
input1Placeholder*
shape:*
dtype0
6
fft_length1Placeholder*
shape:*
dtype0
@
IRFFTIRFFTinput1fft_length1*
Treal0*
Tcomplex0
3
input2Placeholder*
shape:	*
dtype0
8
fft_length2Placeholder*
shape:*
dtype0
@
RFFT_1RFFTinput2fft_length2*
Treal0*
Tcomplex0
1
input3Placeholder*
shape:*
dtype0
6
fft_length3Placeholder*
shape:*
dtype0
B
IRFFT_1IRFFTinput3fft_length3*
Treal0*
Tcomplex0
7
input4Placeholder*
shape
:	*
dtype0
8
fft_length4Placeholder*
shape:*
dtype0
@
RFFT_2RFFTinput4fft_length4*
Treal0*
Tcomplex0
1
input5Placeholder*
shape:*
dtype0
6
fft_length5Placeholder*
shape:*
dtype0
B
IRFFT_2IRFFTinput5fft_length5*
Treal0*
Tcomplex0
7
input6Placeholder*
shape
:	*
dtype0
8
fft_length6Placeholder*
shape:*
dtype0
@
RFFT_3RFFTinput6fft_length6*
Treal0*
Tcomplex0
1
input7Placeholder*
shape:*
dtype0
6
fft_length7Placeholder*
shape:*
dtype0
B
IRFFT_3IRFFTinput7fft_length7*
Treal0*
Tcomplex0
3
input8Placeholder*
shape:*
dtype0
8
fft_length8Placeholder*
shape:*
dtype0
@
RFFT_4RFFTinput8fft_length8*
Treal0*
Tcomplex0
1
input9Placeholder*
shape:*
dtype0
6
fft_length9Placeholder*
shape:*
dtype0
B
IRFFT_4IRFFTinput9fft_length9*
Treal0*
Tcomplex0
4
input10Placeholder*
shape:*
dtype0
9
fft_length10Placeholder*
shape:*
dtype0
B
RFFT_5RFFTinput10fft_length10*
Treal0*
Tcomplex0
2
input11Placeholder*
shape:*
dtype0
7
fft_length11Placeholder*
shape:*
dtype0
D
IRFFT_5IRFFTinput11fft_length11*
Treal0*
Tcomplex0
8
input12Placeholder*
shape
:)*
dtype0
9
fft_length12Placeholder*
shape:*
dtype0
B
RFFT_6RFFTinput12fft_length12*
Treal0*
Tcomplex0
2
input13Placeholder*
shape:*
dtype0
7
fft_length13Placeholder*
shape:*
dtype0
D
IRFFT_6IRFFTinput13fft_length13*
Treal0*
Tcomplex0
8
input14Placeholder*
shape
:*
dtype0
9
fft_length14Placeholder*
shape:*
dtype0
D
RFFT2DRFFT2Dinput14fft_length14*
Treal0*
Tcomplex0
2
input15Placeholder*
shape:*
dtype0
7
fft_length15Placeholder*
shape:*
dtype0
F
IRFFT2DIRFFT2Dinput15fft_length15*
Treal0*
Tcomplex0
<
input16Placeholder*
shape:*
dtype0
9
fft_length16Placeholder*
shape:*
dtype0
F
RFFT2D_1RFFT2Dinput16fft_length16*
Treal0*
Tcomplex0
2
input17Placeholder*
shape:*
dtype0
7
fft_length17Placeholder*
shape:*
dtype0
H
	IRFFT2D_1IRFFT2Dinput17fft_length17*
Treal0*
Tcomplex0
<
input18Placeholder*
shape:*
dtype0
9
fft_length18Placeholder*
shape:*
dtype0
D
RFFT3DRFFT3Dinput18fft_length18*
Treal0*
Tcomplex0
2
input19Placeholder*
shape:*
dtype0
7
fft_length19Placeholder*
shape:*
dtype0
F
IRFFT3DIRFFT3Dinput19fft_length19*
Treal0*
Tcomplex0"ª