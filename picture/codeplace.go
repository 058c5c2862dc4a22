package picture

// CodePlace is where code lies in a file: the same in all processes that run the file.
type CodePlace struct {
	File   string // its build ID, or its name if it has none
	Path   string // of the file, as the target saw it
	Offset uint64 // in the file's own addresses; of a return address, that of the call's last byte
}
