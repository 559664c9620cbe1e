B
Identity:0Jעם•¿Úך[¿?d›?M‹Y¾