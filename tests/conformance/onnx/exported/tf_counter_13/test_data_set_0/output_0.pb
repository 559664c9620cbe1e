B
Identity:0Jâ@ÅFà@ÿ'à@ú<â@
wà@