
7
alpha0Placeholder*
shape
:	*
dtype0
8
sample0Placeholder*
shape
:	*
dtype0
<
RandomGammaGradRandomGammaGradalpha0sample0*
T0"ª