package modules

import (
	"debug/elf"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Symbol returns the address of a global symbol, as callbacks.Symbols requires: the first definition in link
// order. Local symbols of modules are found, too, after all global ones.
func (t *Table) Symbol(name, file string) (callbacks.Address, error) {
	e, s, err := t.find(name, file, false)
	if err != nil {
		return callbacks.Address{}, err
	}
	if s.Section == elf.SHN_ABS {
		return callbacks.Addr(s.Value), nil
	}
	return callbacks.Addr(e.mod.Bias + s.Value), nil
}

// find searches for a symbol that is thread-local or not.
func (t *Table) find(name, file string, tls bool) (*entry, elfx.Symbol, error) {
	var local *entry
	var localSymbol elfx.Symbol
	unread := 0
	for _, e := range t.named(file) {
		if e.file == nil {
			unread++
		}
		s, ok := e.lookup(name)
		if !ok || (s.Type == elf.STT_TLS) != tls {
			continue
		}
		if s.Bind != elf.STB_LOCAL {
			return e, s, nil
		}
		if local == nil {
			local, localSymbol = e, s
		}
	}
	if local != nil {
		return local, localSymbol, nil
	}
	return nil, elfx.Symbol{}, noSymbol(name, file, unread)
}

// noSymbol returns the error of a failed search; unread is the number of modules that could not be
// searched.
func noSymbol(name, file string, unread int) error {
	in := ""
	if file != "" {
		in = " in " + file
	}
	if unread > 0 {
		return fmt.Errorf("%w: %s%s (%d modules could not be searched, because their files are not at hand)",
			callbacks.ErrNoSymbol, name, in, unread)
	}
	return fmt.Errorf("%w: %s%s", callbacks.ErrNoSymbol, name, in)
}

// lookup searches the module's file and then its separate debug information.
func (e *entry) lookup(name string) (elfx.Symbol, bool) {
	if e.file != nil {
		if s, ok := e.file.Lookup(name); ok {
			return s, true
		}
	}
	if e.mod.BuildID == nil {
		return elfx.Symbol{}, false
	}
	if d := e.debug(); d != nil {
		return d.LookupStatic(name)
	}
	return elfx.Symbol{}, false
}
