
6
PlaceholderPlaceholder*
dtype0*
shape:
8
Placeholder_1Placeholder*
shape:*
dtype0
D
UnravelIndexUnravelIndexPlaceholderPlaceholder_1*

Tidx0
8
Placeholder_2Placeholder*
shape:*
dtype0	
8
Placeholder_3Placeholder*
shape:*
dtype0	
H
UnravelIndex_1UnravelIndexPlaceholder_2Placeholder_3*

Tidx0	"ª