explain --page-size
