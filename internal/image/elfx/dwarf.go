package elfx

import (
	"debug/dwarf"
	"errors"
	"fmt"
)

// DWARF opens the debug information of the file, without copying mapped bytes. The error is
// ErrNoSection if the file has no .debug_info. Each call makes a new Data, because a Data is not
// safe for concurrent use. Sections of relocatable files (.o) are not relocated.
func (f *File) DWARF() (d *dwarf.Data, err error) {
	defer Recover("DWARF", &err)
	if _, _, err := f.Section(".debug_info"); err != nil {
		return nil, err
	}
	sec := map[string][]byte{}
	for _, name := range []string{"abbrev", "info", "line", "ranges", "str", "line_str"} {
		b, _, err := f.Section(".debug_" + name)
		if err != nil && !errors.Is(err, ErrNoSection) {
			return nil, err
		}
		sec[name] = b
	}
	if err := f.checkDWARF(sec); err != nil {
		return nil, err
	}
	d, err = dwarf.New(sec["abbrev"], nil, nil, sec["info"], sec["line"], nil, sec["ranges"], sec["str"])
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists", "loclists"} {
		b, _, err := f.Section(".debug_" + name)
		if err != nil {
			continue
		}
		if err := d.AddSection(".debug_"+name, b); err != nil {
			return nil, err
		}
	}
	if b, _, err := f.Section(".debug_types"); err == nil {
		if err := d.AddTypes("types", b); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Recover turns a panic of the standard library's ELF and DWARF readers into an error that is ErrDamaged. Defer
// it in functions that read possibly damaged files. what names the work for the message.
func Recover(what string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %s: %v", ErrDamaged, what, r)
	}
}
