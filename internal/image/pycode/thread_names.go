package pycode

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxNamedThreads bounds the threads that Python's module threading lists in one interpreter.
const maxNamedThreads = 1 << 12

// Offsets in a class (PyTypeObject), after the header of the object, and bits of its flags. Source: cpython/object.h,
// the same in 3.7 to 3.15.
const (
	classBasicSize  = 16
	classFlags      = 152
	classDictOffset = 272

	flagInlineValues = 1 << 2 // 3.13 and later: values of attributes are in the instance
	flagManagedDict  = 1 << 4 // 3.11 and later: the dictionary is in front of the instance
)

// class is a class of Python, with the places of the attributes of its instances.
type class struct {
	flags, basicSize, dictOffset, sharedKeys uint64
}

// ThreadNames returns the names that Python's module threading has for threads, by the addresses of their thread
// states. A thread that the module does not list has none. With an error, it returns those that could be read.
//
// The module lists threads by their pthread_t (threading._active). The list keeps a thread that ended without its
// notice, as those that C code started (named Dummy-N): only names of threads with a thread state are returned.
func (p *Runtime) ThreadNames(threads []Thread) (map[uint64]string, error) {
	if p.secretAt == 0 || p.types.text == 0 || p.types.dict == 0 || p.types.module == 0 || p.types.integer == 0 {
		return nil, fmt.Errorf("the interpreter does not export its basic types: %w", ErrRelease)
	}
	names := map[uint64]string{}
	objects := map[uint64]map[uint64]uint64{} // of interpreters: Thread objects by pthread_t
	var failed error
	for _, t := range threads {
		listed, ok := objects[t.Interpreter]
		if !ok {
			var err error
			if listed, err = p.threadObjects(t.Interpreter); err != nil {
				failed = err
			}
			objects[t.Interpreter] = listed
		}
		object := listed[t.Pthread]
		if object == 0 {
			continue
		}
		name, err := p.threadName(object, t.Pthread)
		if err != nil {
			failed = err
			continue
		}
		names[t.Address] = name
	}
	return names, failed
}

// threadObjects returns the Thread objects of an interpreter by their pthread_t (threading._active).
func (p *Runtime) threadObjects(interpreter uint64) (map[uint64]uint64, error) {
	at, err := p.word(interpreter + p.l.modules)
	if err != nil || at == 0 { // the interpreter starts or ends
		return nil, err
	}
	modules, err := p.dict(at)
	if err != nil {
		return nil, fmt.Errorf("sys.modules: %w", err)
	}
	at, err = p.item(modules, "threading")
	if err != nil {
		return nil, fmt.Errorf("sys.modules: %w", err)
	}
	if at == 0 {
		return nil, nil // the program does not use it
	}
	b := make([]byte, p.header()+8)
	if err := p.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return nil, fmt.Errorf("reading the module threading: %w", err)
	}
	if word(b, p.l.objectType) != p.types.module {
		return nil, nil // the program has another object in its place
	}
	variables, err := p.dict(word(b, p.header()))
	if err != nil {
		return nil, fmt.Errorf("the module threading: %w", err)
	}
	if at, err = p.item(variables, "_active"); err != nil || at == 0 {
		return nil, err
	}
	active, err := p.dict(at)
	if err != nil {
		return nil, fmt.Errorf("threading._active: %w", err)
	}
	return p.byNumber(active)
}

// byNumber returns the values of a dictionary with numbers as keys. Numbers below 2^61-1, as all pthread_t, are their
// own hashes.
func (p *Runtime) byNumber(d dict) (map[uint64]uint64, error) {
	if d.keys.count == 0 {
		return nil, nil
	}
	if d.keys.hashPart == 0 || d.values != 0 || d.keys.count > maxNamedThreads {
		return nil, fmt.Errorf("threading._active has %d keys that are no numbers: %w", d.keys.count, ErrDamaged)
	}
	b := make([]byte, d.keys.count*d.keys.entrySize)
	if err := p.mem.ReadMemory(callbacks.Addr(d.keys.entries), b); err != nil {
		return nil, fmt.Errorf("reading threading._active: %w", err)
	}
	out := map[uint64]uint64{}
	for ; len(b) > 0; b = b[d.keys.entrySize:] {
		if value := word(b, 16); value != 0 { // 0: deleted
			out[word(b, 0)] = value
		}
	}
	return out, nil
}

// threadName returns the name of a Thread object. Its _ident must be pthread.
func (p *Runtime) threadName(object, pthread uint64) (string, error) {
	attributes, err := p.attributes(object)
	if err != nil {
		return "", fmt.Errorf("a Thread object: %w", err)
	}
	at, err := p.attribute(attributes, "_ident")
	if err != nil {
		return "", fmt.Errorf("a Thread object: %w", err)
	}
	ident, err := p.integer(at)
	if err != nil {
		return "", fmt.Errorf("_ident of a Thread object: %w", err)
	}
	if ident != pthread {
		return "", fmt.Errorf("the Thread object at %#x is of thread %#x, and is listed for %#x: %w", object, ident,
			pthread, ErrDamaged)
	}
	if at, err = p.attribute(attributes, "_name"); err != nil {
		return "", fmt.Errorf("a Thread object: %w", err)
	}
	name, err := p.text(at)
	if err != nil {
		return "", fmt.Errorf("_name of a Thread object: %w", err)
	}
	return name, nil
}

// attributes returns the attributes of an instance of a class that is written in Python.
func (p *Runtime) attributes(object uint64) (dict, error) {
	const front = 4 * 8 // of an instance, in which 3.11 and later have words about its attributes
	b := make([]byte, front+p.header())
	if err := p.mem.ReadMemory(callbacks.Addr(object-front), b); err != nil {
		return dict{}, fmt.Errorf("reading an object: %w", err)
	}
	c, err := p.class(word(b[front:], p.l.objectType))
	if err != nil {
		return dict{}, err
	}
	if c.flags&flagManagedDict == 0 || p.l.minor < 11 {
		if c.dictOffset == 0 || c.dictOffset > maxOffset {
			return dict{}, fmt.Errorf("the object at %#x has no attributes: %w", object, ErrDamaged)
		}
		at, err := p.word(object + c.dictOffset)
		if err != nil {
			return dict{}, err
		}
		return p.dict(at)
	}
	at, values := p.managed(b[:front], object, c)
	if at != 0 {
		return p.dict(at)
	}
	if values == 0 {
		return dict{}, fmt.Errorf("the object at %#x has no attributes: %w", object, ErrDamaged)
	}
	keys, err := p.keyTable(c.sharedKeys)
	return dict{keys, values + p.valuesHeader()}, err
}

// managed returns the dictionary of an instance, or else the address of its values. front has the four words in front
// of the instance.
func (p *Runtime) managed(front []byte, object uint64, c class) (at, values uint64) {
	switch {
	case p.l.minor == 11:
		return word(front, 8), word(front, 0)
	case p.l.minor == 12: // one word for both; the values have the lowest bit set, and start a byte after it
		if at = word(front, 8); at&1 != 0 {
			return 0, at + 1
		}
		return at, 0
	}
	at = word(front, 8)
	if p.l.freeThreaded {
		at = word(front, 24)
	}
	if c.flags&flagInlineValues != 0 {
		values = object + c.basicSize
	}
	return at, values
}

// class reads a class.
func (p *Runtime) class(at uint64) (class, error) {
	if c, ok := p.classes[at]; ok {
		return c, nil
	}
	header := p.header()
	b := make([]byte, max(header+classDictOffset+8, p.l.sharedKeys+8))
	if err := p.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return class{}, fmt.Errorf("reading a class: %w", err)
	}
	c := class{flags: word(b, header+classFlags), basicSize: word(b, header+classBasicSize),
		dictOffset: word(b, header+classDictOffset)}
	if p.l.sharedKeys != 0 {
		c.sharedKeys = word(b, p.l.sharedKeys)
	}
	if c.basicSize > maxOffset {
		return class{}, fmt.Errorf("the class at %#x has instances of %d bytes: %w", at, c.basicSize, ErrDamaged)
	}
	p.classes[at] = c
	return c, nil
}

// attribute returns the address of an attribute.
func (p *Runtime) attribute(attributes dict, name string) (uint64, error) {
	at, err := p.item(attributes, name)
	if err == nil && at == 0 {
		err = fmt.Errorf("no attribute %s: %w", name, ErrDamaged)
	}
	return at, err
}

// integer reads an int object that is not negative and fits into 64 bits.
func (p *Runtime) integer(at uint64) (uint64, error) {
	const digits, bitsPerDigit = 3, 30
	header := p.header()
	b := make([]byte, header+8)
	if err := p.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return 0, fmt.Errorf("reading a number: %w", err)
	}
	if err := p.checkType(b, p.types.integer, "int", at); err != nil {
		return 0, err
	}
	// Since 3.12, the lowest bits of the count have the sign. Before that, the count is negative.
	count, negative := word(b, header), false
	if p.l.minor >= 12 {
		negative = count&3 == 2
		count >>= 3
	}
	if count > digits || negative {
		return 0, fmt.Errorf("the int at %#x has %d digits: %w", at, int64(count), ErrDamaged)
	}
	text := make([]byte, 4*count)
	if err := p.mem.ReadMemory(callbacks.Addr(at+header+8), text); err != nil {
		return 0, fmt.Errorf("reading a number: %w", err)
	}
	v := uint64(0)
	for i := range count {
		v |= (word(text, 4*i) & (1<<bitsPerDigit - 1)) << (bitsPerDigit * i)
	}
	return v, nil
}
