// Package cxxabi reads the exceptions and types of C++ libraries, in the layout of the Itanium C++
// ABI: GNU's libstdc++ and LLVM's libc++abi, which agree on the fields before the unwinder's header
// of an exception.
package cxxabi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Offsets of the fields of an exception, from its unwind header.
const (
	atClass    = 0
	atStop     = 24 // private_2: the result of the search for a handler
	atObject   = 32
	atType     = -80
	atPrimary  = -80 // libstdc++: of a dependent exception
	atHandlers = -40
	atGNUCount = -96 // referenceCount, an int
	atLLVMCnt  = -88 // referenceCount; for a dependent exception, its primary one
	headerFrom = -96 // start of the memory that is read
	headerSize = -headerFrom + atObject
)

const (
	gnuClass  = "GNUCC++"
	llvmClass = "CLNGC++"
	// maxReferences bounds the references to an exception and its handlers: higher counts are reused memory.
	maxReferences = 1 << 16
	// maxName bounds the name of a type, in bytes.
	maxName = 4 << 10
	// maxText bounds the text of an exception, in bytes.
	maxText = 4 << 10
	// maxBases bounds the base classes of one class, and the depth of their nesting.
	maxBases = 32
)

// Exception is a thrown exception that is not freed yet.
type Exception struct {
	Header uint64 // address of the unwind header
	Class  string // of the language and its library: GNUCC++, CLNGC++ or another
	// Foreign is set if the exception is not a C++ exception: then its other properties are unknown.
	Foreign bool
	Object  uint64 // address of the thrown object
	Type    uint64 // its type_info
	// Stop is the stack pointer of the function in which the search for a handler ended; 0 without
	// one.
	Stop uint64
}

// ReadException reads the exception with its unwind header at addr. ok is false if it is missing, freed or
// unhandled; termination counts as handling.
func ReadException(mem callbacks.Memory, addr uint64) (Exception, bool) {
	var b [headerSize]byte
	if addr%16 != 0 || addr < -headerFrom || mem.ReadMemory(callbacks.Addr(addr+atClass), b[:8]) != nil {
		return Exception{}, false
	}
	class, dependent, ok := classOf(b[:8])
	if !ok || mem.ReadMemory(addressAt(addr, headerFrom), b[:]) != nil {
		return Exception{}, false
	}
	word := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off-headerFrom:]) }
	e := Exception{Header: addr, Class: class, Stop: word(atStop)}
	if class != gnuClass && class != llvmClass {
		e.Foreign = true
		return e, true
	}
	if n := int32(word(atHandlers)); n == 0 || n > maxReferences || n < -maxReferences {
		return Exception{}, false
	}
	e.Object, e.Type = addr+atObject, word(atType)
	count := word(atLLVMCnt)
	if class == gnuClass {
		count = uint64(uint32(word(atGNUCount)))
	}
	if dependent {
		count = 1
		if e.Object = word(atLLVMCnt); class == gnuClass {
			e.Object = word(atPrimary)
		}
		if e.Object < -headerFrom+atObject {
			return Exception{}, false
		}
		var t [8]byte
		if mem.ReadMemory(addressAt(e.Object-atObject, atType), t[:]) != nil {
			return Exception{}, false
		}
		e.Type = binary.LittleEndian.Uint64(t[:])
	}
	if count == 0 || count > maxReferences {
		return Exception{}, false
	}
	return e, true
}

func addressAt(addr uint64, off int) callbacks.Address {
	return callbacks.Addr(addr + uint64(int64(off)))
}

// classOf returns the name of an exception's class, without the byte that marks a dependent
// exception.
func classOf(b []byte) (class string, dependent, ok bool) {
	v := binary.LittleEndian.Uint64(b)
	var big [8]byte
	binary.BigEndian.PutUint64(big[:], v)
	name := big[:]
	if big[7] <= 1 { // other languages use all eight
		name, dependent = big[:7], big[7] == 1
	}
	name = bytes.TrimRight(name, "\x00")
	const least = 4
	if len(name) < least || bytes.Count(name, []byte{0}) > 1 || name[0] < 'A' || name[0] > 'Z' {
		return "", false, false
	}
	name = bytes.ReplaceAll(name, []byte{0}, []byte{' '}) // Rust's is "MOZ", 0, "RUST"
	return string(name), dependent, printable(name)
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// TypeName returns the mangled name of a type, from its type_info.
func TypeName(mem callbacks.Memory, info uint64) (string, error) {
	name, err := pointer(mem, info+8)
	if err != nil {
		return "", fmt.Errorf("type_info at %#x: %w", info, err)
	}
	s, err := Text(mem, name)
	if err != nil || s == "" || len(s) >= maxName || !printable([]byte(s)) {
		return "", fmt.Errorf("type_info at %#x: it has no name", info)
	}
	return strings.TrimPrefix(s, "*"), nil // the mark of a name that is not unique
}

// Text reads a C string.
func Text(mem callbacks.Memory, addr uint64) (string, error) {
	const piece = 64
	var out []byte
	for len(out) < maxText {
		b := make([]byte, piece-addr%piece) // reads must not cross pages
		if err := mem.ReadMemory(callbacks.Addr(addr), b); err != nil {
			return "", err
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(append(out, b[:end]...)), nil
		}
		out = append(out, b...)
		addr += uint64(len(b))
	}
	return string(out[:maxText]), nil
}

func pointer(mem callbacks.Memory, addr uint64) (uint64, error) {
	var b [8]byte
	err := mem.ReadMemory(callbacks.Addr(addr), b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// Base finds a base class of a class, or the class itself, by its mangled name, and returns its offset in an
// object. Virtual bases are not searched.
func Base(mem callbacks.Memory, info uint64, name string) (offset uint64, ok bool) {
	return base(mem, info, name, maxBases)
}

func base(mem callbacks.Memory, info uint64, name string, depth int) (offset uint64, ok bool) {
	got, err := TypeName(mem, info)
	if err != nil || got == name || depth == 0 {
		return 0, err == nil && got == name
	}
	switch kindOf(mem, info) {
	case "N10__cxxabiv120__si_class_type_infoE":
		b, err := pointer(mem, info+16)
		if err != nil {
			return 0, false
		}
		return base(mem, b, name, depth-1)
	case "N10__cxxabiv121__vmi_class_type_infoE":
		return someBase(mem, info, name, depth)
	}
	return 0, false
}

// someBase is Base for a class with several bases.
func someBase(mem callbacks.Memory, info uint64, name string, depth int) (offset uint64, ok bool) {
	counts, err := pointer(mem, info+16) // flags and the number of bases
	if err != nil {
		return 0, false
	}
	for i := range min(counts>>32, maxBases) {
		b, err := pointer(mem, info+24+16*i)
		flags, err2 := pointer(mem, info+32+16*i)
		const virtual = 1
		if err != nil || err2 != nil || flags&virtual != 0 {
			continue
		}
		if off, ok := base(mem, b, name, depth/2); ok {
			return off + uint64(int64(flags)>>8), true
		}
	}
	return 0, false
}

// kindOf returns the mangled name of the class of a type_info, which determines its bases.
func kindOf(mem callbacks.Memory, info uint64) string {
	table, err := pointer(mem, info)
	if err != nil {
		return ""
	}
	own, err := pointer(mem, table-8)
	if err != nil {
		return ""
	}
	name, err := TypeName(mem, own)
	if err != nil {
		return ""
	}
	return name
}

// Virtual returns the entry of virtual function n of the object at addr; destructors count as two.
func Virtual(mem callbacks.Memory, addr uint64, n int) (uint64, error) {
	table, err := pointer(mem, addr)
	if err != nil {
		return 0, err
	}
	return pointer(mem, table+8*uint64(n))
}

// Value formats an object of a plain type: a number, or a string. ok is false for another type.
func Value(mem callbacks.Memory, mangled string, addr uint64) (string, bool) {
	v, err := pointer(mem, addr) // no object is smaller than an allocator's minimal block
	if err != nil {
		return "", false
	}
	switch mangled {
	case "i":
		return strconv.Itoa(int(int32(v))), true
	case "j":
		return strconv.FormatUint(uint64(uint32(v)), 10), true
	case "l", "x":
		return strconv.FormatInt(int64(v), 10), true
	case "m", "y":
		return strconv.FormatUint(v, 10), true
	case "d":
		return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64), true
	case "PKc", "Pc":
		s, err := Text(mem, v)
		return s, err == nil
	}
	return "", false
}

// HeaderAfter returns the offsets of the unwind header from a library's record of the last caught
// exception, for each library.
func HeaderAfter() []uint64 { return []uint64{-atType, -headerFrom} }
