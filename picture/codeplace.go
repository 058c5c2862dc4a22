package picture

// CodePlace is the place of code in a file, which is the same in all processes that run the file.
type CodePlace struct {
	File   string // its build ID, or else its name
	Path   string // of the file, in the target's file system
	Offset uint64 // in the file's own addresses; for a return address, that of the call's last byte
}
