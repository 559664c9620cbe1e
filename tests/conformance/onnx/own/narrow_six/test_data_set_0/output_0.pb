BcaJ
ÿÏ0TÆ}