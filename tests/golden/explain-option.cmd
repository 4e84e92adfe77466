explain tp_size
