module replaced

go 1.21
