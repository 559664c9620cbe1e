
/
a0Placeholder*
shape:*
dtype0
/
x0Placeholder*
shape:*
dtype0
!
IgammaIgammaa0x0*
T0
-
a1Placeholder*
shape:*
dtype0
-
x1Placeholder*
shape:*
dtype0
#
IgammacIgammaca1x1*
T0
/
a2Placeholder*
shape:*
dtype0
/
b2Placeholder*
shape:*
dtype0
/
x2Placeholder*
shape:*
dtype0
'
BetaincBetainca2b2x2*
T0"ª