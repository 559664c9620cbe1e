B
Identity:0Jtын©*'┐?Ь▌Б©