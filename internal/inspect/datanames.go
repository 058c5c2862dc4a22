package inspect

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// dataNames names the program's data: variables, what is in them, the variables of
// frames, and blocks of the heap by what points to them.
type dataNames struct {
	target   callbacks.Target
	code     *codeNames
	stacks   *stacks
	roster   *roster
	library  func() *libc.Library
	modules  []*callbacks.Module
	pointers []heapPointer     // nil until they are asked for
	locals   map[uint64]string // names of local variables, by address
}

// dataName names the program's variable at addr, or "".
func (d *dataNames) dataName(addr uint64) string {
	if addr == 0 || d.code.sym == nil {
		return ""
	}
	s, ok := d.code.sym.Data(addr)
	if !ok || s.Offset != 0 {
		return ""
	}
	return s.Name
}

// libraryMembers are members of a class of GNU's C++ library, by which a program does not know
// what it waits for.
var libraryMembers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\._M_\w+(\[\d+\])?)+`) })

// placeName names the program's data at addr: a variable, an element or member of
// one, or a distance into one if debug information does not tell.
func (d *dataNames) placeName(addr uint64) string {
	name := d.wholeName(addr)
	if !strings.Contains(name, "._M_") {
		return name
	}
	return libraryMembers().ReplaceAllString(name, "")
}

// wholeName is placeName with all members.
func (d *dataNames) wholeName(addr uint64) string {
	if addr == 0 || d.code.sym == nil || d.code.owned(addr) {
		return ""
	}
	if name, ok := d.code.sym.Variable(addr); ok {
		return name
	}
	s, ok := d.code.sym.Data(addr)
	switch {
	case !ok || s.Name == "":
		return cmp.Or(d.localName(addr), d.heapName(addr))
	case s.Offset == 0:
		return symbolize.Demangle(s.Name)
	}
	return symbolize.Demangle(s.Name) + "+" + picture.Hex(s.Offset).String()
}

// waitName is what the program calls the thing that w waits for: a variable, or
// the name of a critical section.
func (d *dataNames) waitName(w wait) string {
	name := d.placeName(w.address)
	critical, ok := rtl.CriticalName(name)
	switch {
	case ok && critical != "":
		return critical
	case ok, w.Kind == picture.WaitCritical && w.only():
		return picture.Unnamed
	}
	return name
}
