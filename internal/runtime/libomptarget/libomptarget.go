// Package libomptarget reads the devices, and the data that is mapped to them, from the memory of LLVM's offloading
// library. The library exports no variable: the code of omp_get_num_devices shows where its list of devices is, and
// everything found from there is checked before it is used. A structure that does not fit is an error.
package libomptarget

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Device is a device that the library uses.
type Device struct {
	Number int
	// Plugin is the name of its plugin, such as cuda or x86_64; empty if it is unknown.
	Plugin string
	// Mapped lists the mapped data by host address.
	Mapped []Mapping
	// Err is the reason why Mapped is missing or incomplete.
	Err error
}

// Mapping is a range of the host's memory that is mapped to a device.
type Mapping struct {
	Host, Size uint64
	Base       uint64 // host address of the variable; the range may be a part of it
	Device     uint64 // address on the device
	References uint64
	// Forever is set for data that stays mapped: declare target variables, and omp_target_associate_ptr.
	Forever bool
	// Name is the expression in the clause that mapped the data. File and Line are those of the declaration of its
	// variable or member. They need debug information.
	Name, File string
	Line       int
}

// Bounds of the walk. Programs stay far below them; a larger number is damage.
const (
	maxDevices  = 1 << 10
	maxMappings = 1 << 16 // of all devices
	maxDepth    = 64      // of the tree: a balanced one with maxMappings nodes has less than 2*16 levels
	maxName     = 1 << 12 // bytes
	wordSize    = 8
)

// functions are exported by each release that is read, and by no other library together.
var functions = []string{"omp_get_num_devices", "__tgt_register_lib", "__tgt_init_all_rtls"}

// Find returns the modules of a target that are LLVM's offloading library.
func Find(t callbacks.Target, modules []*callbacks.Module) (found []*callbacks.Module) {
	for _, m := range modules {
		if isLibrary(m.Path) && exports(t, m, functions...) {
			found = append(found, m)
		}
	}
	return found
}

// isLibrary reports whether a path may be that of the library, and not of one of its plugins.
func isLibrary(path string) bool { return strings.HasPrefix(filepath.Base(path), "libomptarget.so") }

func exports(t callbacks.Target, m *callbacks.Module, names ...string) bool {
	for _, name := range names {
		if _, err := layout.SymbolIn(t, m, name); err != nil {
			return false
		}
	}
	return true
}

// reader reads one library of a target.
type reader struct {
	target  callbacks.Target
	library *callbacks.Module
	modules []*callbacks.Module
	form    form
	left    uint64 // number of mappings that may still be read
}

// form is the form of the structures, which differs between releases.
type form struct {
	inline bool // the tree's nodes contain the mappings: until release 14
	padded bool // mappings have the start of the device's allocation, too: since release 17
	apart  bool // the map of host data is in an object that has a pointer to the device: since release 18
}

// formOf returns the form of a library's structures, by functions that came with a release.
func formOf(t callbacks.Target, library *callbacks.Module) form {
	return form{
		inline: !exports(t, library, "__tgt_target_kernel"),
		padded: exports(t, library, "omp_target_memcpy_async"),
		apart:  exports(t, library, "omp_target_memset"),
	}
}

// Read returns the devices of the library in a module. modules are those of the target. A library that has not looked
// for devices yet has none.
func Read(t callbacks.Target, library *callbacks.Module, modules []*callbacks.Module) ([]Device, error) {
	r := &reader{t, library, modules, formOf(t, library), maxMappings}
	list, count, err := r.list()
	if err != nil || count == 0 {
		return nil, err
	}
	pointers := layout.ReadSize(t, callbacks.Addr(list), count*wordSize)
	var objects []uint64
	for i := range count {
		objects = append(objects, pointers.Uint(layout.Field{Offset: i * wordSize, Size: wordSize}))
	}
	if err := pointers.Err(); err != nil {
		return nil, fmt.Errorf("devices of %s: %w", library.Path, err)
	}
	out := make([]Device, count)
	for i, object := range objects {
		if out[i], err = r.device(object, i); err != nil {
			return nil, fmt.Errorf("device %d of %s: %w", i, library.Path, err)
		}
	}
	return out, nil
}

// errCode is the error for a function of an unknown form.
var errCode = errors.New("the code of omp_get_num_devices reads no list that is known")

// list returns the address of the array of pointers to devices, and their number.
func (r *reader) list() (array, count uint64, err error) {
	entry, err := layout.SymbolIn(r.target, r.library, functions[0])
	if err != nil {
		return 0, 0, fmt.Errorf("omp_get_num_devices in %s: %w", r.library.Path, err)
	}
	paths, err := accesspath.Run(accesspath.Config{Arch: r.target.Arch(), Mem: r.target}, entry.Offset)
	if err != nil {
		return 0, 0, fmt.Errorf("omp_get_num_devices in %s: %w", r.library.Path, err)
	}
	var result *symbolic.Expr
	for _, p := range paths {
		switch {
		case p.Result == nil:
		case result == nil:
			result = p.Result
		case !result.Equal(p.Result):
			return 0, 0, fmt.Errorf("%s: %w", r.library.Path, errCode)
		}
	}
	if result == nil {
		return 0, 0, fmt.Errorf("%s: %w", r.library.Path, errCode)
	}
	if array, count, err = r.evaluate(result); err != nil {
		return 0, 0, fmt.Errorf("devices of %s: %w", r.library.Path, err)
	}
	return array, count, nil
}

// evaluate returns the array and the length of the list whose length a result is: a std::vector (the difference of two
// pointers) until release 15, then LLVM's SmallVector (a pointer, the length and the capacity).
func (r *reader) evaluate(result *symbolic.Expr) (array, count uint64, err error) {
	read := func(e *symbolic.Expr) uint64 {
		v, fault := symbolic.Eval(e, symbolic.Env{Mem: r.target})
		err = errors.Join(err, fault)
		return v
	}
	if result.Kind == symbolic.KindLoad && result.Size == 4 {
		at := read(result.A)
		if err != nil {
			return 0, 0, err
		}
		vector := layout.ReadSize(r.target, callbacks.Addr(at-wordSize), 2*wordSize)
		array = vector.Uint(layout.Field{Size: wordSize})
		count = vector.Uint(layout.Field{Offset: wordSize, Size: 4})
		capacity := vector.Uint(layout.Field{Offset: wordSize + 4, Size: 4})
		if err := vector.Err(); err != nil {
			return 0, 0, err
		}
		return array, count, checkList(array, count, capacity)
	}
	if result.Kind == symbolic.KindExtend {
		result = result.A
	}
	if result.Kind != symbolic.KindBinary || result.B == nil || !result.B.IsConst(3) { // a shift by the size of a word
		return 0, 0, errCode
	}
	ends := result.A
	if ends.Kind != symbolic.KindBinary || ends.A.Kind != symbolic.KindLoad || ends.B.Kind != symbolic.KindLoad {
		return 0, 0, errCode
	}
	high, low := read(ends.A.A), read(ends.B.A)
	if err != nil {
		return 0, 0, err
	}
	if high != low+wordSize {
		return 0, 0, errCode
	}
	vector := layout.ReadSize(r.target, callbacks.Addr(low), 3*wordSize)
	begin, end := vector.Uint(layout.Field{Size: wordSize}), vector.Uint(layout.Field{Offset: wordSize, Size: wordSize})
	limit := vector.Uint(layout.Field{Offset: 2 * wordSize, Size: wordSize})
	if err := vector.Err(); err != nil {
		return 0, 0, err
	}
	if end < begin || limit < end || (end-begin)%wordSize != 0 {
		return 0, 0, fmt.Errorf("the list at %#x is damaged: %#x to %#x of %#x", low, begin, end, limit)
	}
	return begin, (end - begin) / wordSize, checkList(begin, (end-begin)/wordSize, (limit-begin)/wordSize)
}

func checkList(array, count, capacity uint64) error {
	if count > maxDevices || count > capacity || count > 0 && (array == 0 || array%wordSize != 0) {
		return fmt.Errorf("the list at %#x is damaged: %d of %d", array, count, capacity)
	}
	return nil
}

// device reads the DeviceTy with a number. The error is for an object that is none.
func (r *reader) device(object uint64, number int) (Device, error) {
	d := Device{Number: number}
	head := layout.ReadSize(r.target, callbacks.Addr(object), r.form.deviceBytes())
	id := head.Uint(layout.Field{Size: 4})
	plugin := head.Uint(layout.Field{Offset: wordSize, Size: wordSize})
	if err := head.Err(); err != nil {
		return d, err
	}
	if id != uint64(number) || plugin == 0 || plugin%wordSize != 0 {
		return d, fmt.Errorf("the object at %#x has the number %d and the plugin %#x", object, id, plugin)
	}
	d.Plugin = r.plugin(plugin)
	tree, ok := r.findTree(object, head)
	if !ok {
		d.Err = fmt.Errorf("the object at %#x has no map of host data that is known", object)
		return d, nil
	}
	d.Mapped, d.Err = r.mapped(tree)
	return d, nil
}

// plugin returns the name of the plugin with the given object: that of the file with its functions, or, since release
// 19, which contains the plugins, that of its class; "" if neither is known.
func (r *reader) plugin(object uint64) string {
	const functions = 24 // pointers at the start of the object: a plugin's functions are among the first
	words := layout.ReadSize(r.target, callbacks.Addr(object), functions*wordSize)
	for i := range uint64(functions) {
		v := words.Uint(layout.Field{Offset: i * wordSize, Size: wordSize})
		if words.Err() != nil {
			return ""
		}
		for _, m := range r.modules {
			name, ok := strings.CutPrefix(filepath.Base(m.Path), "libomptarget.rtl.")
			if ok && m.Contains(callbacks.Addr(v)) {
				name, _, _ = strings.Cut(name, ".")
				return name
			}
		}
	}
	return classes[r.class(words.Uint(layout.Field{Size: wordSize}))]
}

// classes are the plugins of release 19 by their class.
var classes = map[string]string{
	"N4llvm3omp6target6plugin16GenELF64PluginTyE": "host",
	"N4llvm3omp6target6plugin12CUDAPluginTyE":     "cuda",
	"N4llvm3omp6target6plugin14AMDGPUPluginTyE":   "amdgpu",
}

// class returns the name of the class with a table of virtual functions: the word before it points to the type_info,
// whose second word points to the name.
func (r *reader) class(table uint64) string {
	if !r.library.Contains(callbacks.Addr(table)) {
		return ""
	}
	info, err := layout.ReadUint(r.target, callbacks.Addr(table-wordSize), wordSize)
	if err != nil || !r.library.Contains(callbacks.Addr(info)) {
		return ""
	}
	name, err := layout.ReadUint(r.target, callbacks.Addr(info+wordSize), wordSize)
	if err != nil {
		return ""
	}
	text, err := layout.ReadString(r.target, callbacks.Addr(name), maxName)
	if err != nil {
		return ""
	}
	return text
}
