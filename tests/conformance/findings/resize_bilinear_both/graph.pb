
1
imagesPlaceholder*
shape:*
dtype0
/
sizePlaceholder*
shape:*
dtype0
f
ResizeBilinearResizeBilinearimagessize*
align_corners(*
T0*
half_pixel_centers("ª