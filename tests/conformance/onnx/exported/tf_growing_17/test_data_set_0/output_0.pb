B
Identity:0J=ˆé¾=ˆé¾Úz¿=ˆé¾Úz¿L1?