
2
aPlaceholder*
shape
:*
dtype0
2
bPlaceholder*
shape
:*
dtype0
N
AccumulateNV2AccumulateNV2aba*
N*
shape
:*
T0"ª