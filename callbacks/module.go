package callbacks

import "io"

// Image gives random access to the bytes of a file.
//
// An Image whose content is in memory as a whole may also have a method
// Bytes() []byte, which parsers use instead of copying.
type Image interface {
	io.ReaderAt
	// Size is the length of the file in bytes.
	Size() int64
}

// Module is an executable or a shared library that is mapped in a target.
type Module struct {
	// Path is the file's path as the target saw it. The vdso is "[vdso]".
	Path string
	// Bias is the difference between an address in the target and the
	// virtual address in the file. It is 0 for a non-PIE executable.
	Bias uint64
	// Low and High bound the module's mapped segments: [Low, High).
	Low, High Address
	// BuildID is the GNU build identifier as the target's memory has it, or
	// as the file has it if the memory is not at hand; nil if there is none.
	BuildID []byte
	// Main tells the executable from the libraries.
	Main bool
	// File is the file that was opened for the module; it may lie elsewhere
	// than Path says. It is empty if none is at hand.
	File string
	// Image is the content of File, or an image that was taken from the
	// target's memory (vdso). It is nil if none is at hand.
	Image Image
	// Err says why Image is nil, or that File was used although its identity
	// could not be proven. It tells the cause and the fix.
	Err error
}

// Contains reports whether address a lies in the module.
func (m *Module) Contains(a Address) bool {
	return a.Offset >= m.Low.Offset && a.Offset < m.High.Offset
}
