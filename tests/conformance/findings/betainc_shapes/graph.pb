
,
aPlaceholder*
shape:*
dtype0
,
bPlaceholder*
shape:*
dtype0
,
xPlaceholder*
shape:*
dtype0
$
BetaincBetaincabx*
T0"ª