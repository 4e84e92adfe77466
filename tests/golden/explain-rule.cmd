explain PG003
