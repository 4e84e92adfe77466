defects
