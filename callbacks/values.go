package callbacks

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// Address is a place in the target's memory (ompd_address_t). Hosts use segment 0 only. An Address is never
// mixed with sizes and values, which are plain integers.
type Address struct{ Segment, Offset uint64 }

// Addr returns the address with offset off in segment 0.
func Addr(off uint64) Address { return Address{Offset: off} }

// Add returns the address n bytes further; n may be the two's complement of a negative distance.
func (a Address) Add(n uint64) Address { return Address{a.Segment, a.Offset + n} }

// Sub returns the distance in bytes from b to a. Both must be in one segment.
func (a Address) Sub(b Address) uint64 { return a.Offset - b.Offset }

// IsNull reports whether a is the null pointer.
func (a Address) IsNull() bool { return a.Offset == 0 }

// String returns the offset as "0x…", preceded by the segment if it is not 0.
func (a Address) String() string {
	var room [40]byte // for two numbers of 64 bits and the separator
	text := room[:0]
	if a.Segment != 0 {
		text = append(strconv.AppendUint(text, a.Segment, 10), ':')
	}
	return string(strconv.AppendUint(append(text, "0x"...), a.Offset, 16))
}

// IDKind is the kind of a native thread identifier (ompd_thread_id_t).
type IDKind uint64

// The kinds of OpenMP 5.2 that a host uses.
const (
	ThreadIDPthread IDKind = 0 // pthread_t, 8 bytes on 64-bit Linux
	ThreadIDLWP     IDKind = 1 // kernel thread id
)

// String returns the specification's name of the kind.
func (k IDKind) String() string {
	switch k {
	case ThreadIDPthread:
		return "OMPD_THREAD_ID_PTHREAD"
	case ThreadIDLWP:
		return "OMPD_THREAD_ID_LWP"
	}
	return fmt.Sprintf("thread id kind %d", uint64(k))
}

// ThreadID identifies one native thread.
type ThreadID struct {
	Kind  IDKind
	Value uint64
}

// LWP returns the identifier of the kernel thread n.
func LWP(n uint64) ThreadID { return ThreadID{ThreadIDLWP, n} }

// Pthread returns the identifier of the thread with pthread_t v.
func Pthread(v uint64) ThreadID { return ThreadID{ThreadIDPthread, v} }

// String returns "LWP 4711" or "pthread 0x7f…".
func (t ThreadID) String() string {
	switch t.Kind {
	case ThreadIDLWP:
		return fmt.Sprintf("LWP %d", t.Value)
	case ThreadIDPthread:
		return fmt.Sprintf("pthread %#x", t.Value)
	}
	return fmt.Sprintf("%v %#x", t.Kind, t.Value)
}

// Arch is an instruction set and its data model.
type Arch uint8

// The supported architectures. Both are little-endian and 64-bit.
const (
	ArchUnknown Arch = iota
	ArchX86_64
	ArchAArch64
)

// String returns the name that the tool prints.
func (a Arch) String() string {
	switch a {
	case ArchX86_64:
		return "x86-64"
	case ArchAArch64:
		return "aarch64"
	}
	return "unknown"
}

// PointerSize returns the size of a data pointer in bytes.
func (a Arch) PointerSize() int { return 8 }

// ByteOrder returns the byte order of the target's memory.
func (a Arch) ByteOrder() binary.ByteOrder { return binary.LittleEndian }

// Mapping is one range of the target's address space.
type Mapping struct {
	Low, High  Address // [Low, High)
	Perm       Perm
	File       string // path in the target's view; empty for anonymous memory
	FileOffset uint64 // offset in File of the byte at Low
}

// Perm is a set of access rights of a mapping.
type Perm uint8

// Access rights, as in ELF program headers.
const (
	PermExec  Perm = 1
	PermWrite Perm = 2
	PermRead  Perm = 4
)

// Word decodes the little-endian unsigned integer in p, of 1, 2, 4 or 8 bytes. It returns 0 for any other
// length.
func Word(p []byte) uint64 {
	switch len(p) {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	case 8:
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}
