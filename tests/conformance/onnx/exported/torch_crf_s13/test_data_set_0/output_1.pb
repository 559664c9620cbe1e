Ba.7J<íj‘@,žz@v@ß!@dp
@\ÄTAÕLPA'ÕMAŠCAþ‡PAÝäAkN÷@¶´É@Öà@ÓžØ@