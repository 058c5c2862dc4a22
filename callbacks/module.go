package callbacks

import "io"

// Image gives random access to the bytes of a file.
//
// An Image with its whole content in memory may also have a method Bytes() []byte, which parsers use instead of
// copying.
type Image interface {
	io.ReaderAt
	// Size returns the length of the file in bytes.
	Size() int64
}

// Module is an executable or a shared library that is mapped in a target.
type Module struct {
	// Path is the file's path in the target's view. The vdso is "[vdso]".
	Path string
	// Bias is the difference between an address in the target and the virtual address in the file. It is 0 for a
	// non-PIE executable.
	Bias uint64
	// Low and High bound the module's mapped segments: [Low, High).
	Low, High Address
	// BuildID is the GNU build identifier in the target's memory, or in the file if that memory is missing; it
	// may be nil.
	BuildID []byte
	// Main distinguishes the executable from the libraries.
	Main bool
	// File is the file that was opened for the module; it may differ from Path. It is empty if no file is
	// available.
	File string
	// Image is the content of File, or an image from the target's memory (vdso). It is nil if neither is
	// available.
	Image Image
	// Err is the reason why Image is nil, or why the identity of File could not be proven. It names the cause
	// and the fix.
	Err error
}

// Contains reports whether address a is in the module.
func (m *Module) Contains(a Address) bool {
	return a.Offset >= m.Low.Offset && a.Offset < m.High.Offset
}
