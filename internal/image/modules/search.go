package modules

import (
	"cmp"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// deletedSuffix is what the kernel appends to the path of a file that was
// removed while it was mapped.
const deletedSuffix = " (deleted)"

// Error explains why a module's file is missing or uncertain.
type Error struct {
	Path string // path in the target
	Err  error  // ErrNoFile, ErrMismatch, ErrUnproven, or a read error
	Fix  string
}

// Error returns cause and fix.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %v", cmp.Or(e.Path, "the executable, whose name is lost"), e.Err)
	if e.Fix == "" {
		return text
	}
	return text + ": " + e.Fix
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// search opens the first file that is the module's own. Without a build ID to prove its identity, a file is
// accepted if its segments fit.
func (t *Table) search(e *entry) {
	var refused error
	fix := ""
	for _, name := range t.candidates(e) {
		img, closer, err := t.opts.Open.Map(name)
		if isLimit(err) {
			refused = cmp.Or(refused, err)
		}
		if err != nil {
			continue
		}
		f, err := elfx.OpenWithMemory(t.taken, img)
		if err == nil {
			err = t.identify(e, f)
		}
		if errors.Is(err, ErrUnproven) && t.isMappedFile(e, name) {
			err = nil
		}
		if err != nil && !errors.Is(err, ErrUnproven) {
			closer.Close()
			switch {
			case isLimit(err):
				err = fmt.Errorf("%s: %w", name, err)
			case refused == nil && name != e.mod.Path:
				err = fmt.Errorf("%s is %w", name, err)
			}
			if refused == nil {
				refused = err
			}
			continue
		}
		t.keep(closer)
		e.file, e.mod.File, e.mod.Image = f, name, img
		if err != nil {
			e.mod.Err = &Error{e.mod.Path, err, ""}
		}
		return
	}
	if refused == nil {
		refused = ErrNoFile
	}
	if !isLimit(refused) {
		fix = t.fix(e)
	}
	e.mod.Err = &Error{e.mod.Path, refused, fix}
}

// isLimit reports whether a limit of this process, and not the file, is the cause of an error. Another file does not
// help then.
func isLimit(err error) bool {
	return slices.ContainsFunc([]error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, budget.ErrMemory}, func(e error) bool {
		return errors.Is(err, e)
	})
}

// keep records a file for Close.
func (t *Table) keep(c interface{ Close() error }) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closers = append(t.closers, c)
}

// candidates returns the possible files of the module, best first.
func (t *Table) candidates(e *entry) []string {
	if e.mod.Main && t.opts.Exe != "" {
		return []string{t.opts.Exe}
	}
	var list []string
	add := func(name string) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	mapped, deleted := t.mapped(e)
	if deleted { // its path is now that of another file
		add(mapped)
	}
	paths := append([]string{e.mod.Path}, e.names...)
	for _, root := range slices.Compact([]string{t.opts.Sysroot, ""}) {
		for _, p := range paths {
			if p = strings.TrimSuffix(p, deletedSuffix); filepath.IsAbs(p) {
				add(filepath.Join(root, p))
			}
		}
	}
	if mapped != "" {
		add(mapped)
	}
	for _, dir := range t.opts.DebugDirs {
		if name := buildIDPath(dir, e.mod.BuildID); name != "" {
			add(name)
		}
	}
	return list
}

// mappingOf returns a mapping of the entry's file: that of its dynamic section or, for an executable without a known
// one, that of its program headers or of its entry point.
func (t *Table) mappingOf(e *entry) *callbacks.Mapping {
	m := t.mappingAt(e.dynamic)
	if m == nil && e.mod.Main {
		m = t.mappingAt(t.facts.Auxv[atPHDR])
	}
	if m == nil && e.mod.Main {
		m = t.mappingAt(t.facts.Auxv[atENTRY])
	}
	return m
}

// mapped returns a path by which the mapped file of an entry can be opened even after a rename; "" without one.
// deleted reports whether the file was removed.
func (t *Table) mapped(e *entry) (name string, deleted bool) {
	m := t.mappingOf(e)
	if m == nil || t.facts.Mapped == nil {
		return "", false
	}
	return t.facts.Mapped(*m), strings.HasSuffix(m.File, deletedSuffix)
}

// buildIDPath returns the path of a file with that build ID below a debug directory. The separate debug
// information has ".debug" appended.
func buildIDPath(dir string, id []byte) string {
	if len(id) < 2 {
		return ""
	}
	s := hex.EncodeToString(id)
	return filepath.Join(dir, ".build-id", s[:2], s[2:])
}

// isMappedFile reports whether the file name is the one that the kernel has mapped for e, whatever its notes are.
func (t *Table) isMappedFile(e *entry, name string) bool {
	m := t.mappingOf(e)
	return m != nil && t.facts.IsMapped != nil && t.facts.IsMapped(*m, name)
}

// identify compares f with the mapped file: nil if it is the same, ErrUnproven without a
// contradiction, ErrMismatch with one.
func (t *Table) identify(e *entry, f *elfx.File) error {
	if e.memory == nil {
		if d, ok := dynamicOf(f); ok && !e.mod.Main && e.mod.Bias+d != e.dynamic {
			return fmt.Errorf("%w: its dynamic section is elsewhere", ErrMismatch)
		}
		// The kernel leaves program headers that are not at the start of the file out of a core: the file's own ones
		// have the address of the build ID then.
		got := f.BuildID()
		switch want, _ := t.buildIDIn(f, t.biasOf(e, f)); {
		case got == nil, want == nil:
			return ErrUnproven
		case string(want) != string(got):
			return mismatch(got, want)
		}
		return nil
	}
	want, whole := t.mappedBuildID(e)
	if got := f.BuildID(); want != nil || got != nil && whole {
		if string(want) != string(got) {
			return mismatch(got, want)
		}
		return nil
	}
	if !slices.EqualFunc(loads(e.memory), loads(f), func(a, b elf.ProgHeader) bool { return a == b }) {
		return fmt.Errorf("%w: its segments lie elsewhere", ErrMismatch)
	}
	return ErrUnproven
}

// mappedBuildID returns the build ID in the notes that the target has mapped, or nil if it was not found. whole
// reports that all notes could be read: then the file certainly has no build ID. The notes are read at their
// addresses: patchelf moves them from the first segment to the last.
func (t *Table) mappedBuildID(e *entry) (id []byte, whole bool) {
	if id := e.memory.BuildID(); id != nil {
		return id, true
	}
	return t.buildIDIn(e.memory, e.mod.Bias)
}

// biasOf returns the bias that a module would have if f were its file.
func (t *Table) biasOf(e *entry, f *elfx.File) uint64 {
	if entryPoint := t.facts.Auxv[atENTRY]; e.mod.Main && e.dynamic == 0 && f.Type() == elf.ET_DYN {
		return entryPoint - f.Entry()
	}
	return e.mod.Bias
}

// buildIDIn is mappedBuildID with the program headers of f, for a bias.
func (t *Table) buildIDIn(f *elfx.File, bias uint64) (id []byte, whole bool) {
	whole = true
	for _, p := range f.Progs() {
		if p.Type != elf.PT_NOTE {
			continue
		}
		b := make([]byte, min(p.Filesz, maxHeaderPages))
		err := t.facts.Memory.ReadMemory(callbacks.Addr(bias+p.Vaddr), b)
		if err != nil || p.Filesz > maxHeaderPages {
			whole = false
			continue
		}
		if id := elfx.BuildIDNote(b, p.Align); id != nil {
			return id, true
		}
	}
	return nil, whole
}

// loads returns the program headers of the mapped segments.
func loads(f *elfx.File) []elf.ProgHeader {
	return slices.DeleteFunc(slices.Clone(f.Progs()), func(p elf.ProgHeader) bool { return p.Type != elf.PT_LOAD })
}

// mismatch returns the error for a file with another build ID than the program's.
func mismatch(got, want []byte) error {
	return fmt.Errorf("%w: its build ID is %s, the program's is %s", ErrMismatch, idText(got), idText(want))
}

// idText formats a build ID for error messages.
func idText(id []byte) string {
	if id == nil {
		return "none"
	}
	return hex.EncodeToString(id)
}

// fix returns the command that makes the module's file readable.
func (t *Table) fix(e *entry) string {
	why := ""
	if _, deleted := t.mapped(e); deleted {
		return "it was deleted or replaced while the program ran; root can still read it: type the same with sudo"
	}
	if strings.HasSuffix(e.mod.Path, deletedSuffix) {
		why = "it was deleted or replaced while the program ran; "
	}
	if t.opts.Open != nil {
		why += "it may lie where this server opens no files (--allow-dir); "
	}
	if e.mod.Main {
		return why + "give the executable that ran by --exe PATH"
	}
	return why + "give the root directory of the system that the program ran on by --sysroot DIR"
}

// debugFile opens the separate debug information of a module, for its symbols; nil if it is not in the debug
// directories.
func (t *Table) debugFile(e *entry) *elfx.File {
	if e.file != nil {
		if _, _, err := e.file.Section(".symtab"); err == nil {
			return nil
		}
	}
	for _, dir := range t.opts.DebugDirs {
		name := buildIDPath(dir, e.mod.BuildID)
		if name == "" {
			break
		}
		f, closer, err := t.opts.Open.Path(t.taken, name+".debug")
		if err != nil {
			continue
		}
		if string(f.BuildID()) == string(e.mod.BuildID) {
			t.keep(closer)
			return f
		}
		closer.Close()
	}
	return nil
}

// Piece is the content of a module's file at an address of the target.
type Piece struct {
	Path   string         // of the module, in the target
	Offset uint64         // in the file
	Data   []byte         // empty past the file-backed part
	Zero   uint64         // number of bytes after Data that the loader cleared
	Perm   callbacks.Perm // as requested in the file
}

// Writable reports whether the program could have changed the piece.
func (p Piece) Writable() bool { return p.Perm&callbacks.PermWrite != 0 }

// PieceAt returns the content of the module's file at address a, at most to the end of its segment;
// false without a module with a file there. The caller must not change the data.
func (t *Table) PieceAt(a callbacks.Address) (Piece, bool) {
	e := t.entryAt(a)
	if e == nil || e.file == nil || e.mod.Path == vdsoPath {
		return Piece{}, false
	}
	vaddr := a.Offset - e.mod.Bias
	for _, p := range e.file.Progs() {
		if p.Type != elf.PT_LOAD || vaddr < p.Vaddr&^(pageSize-1) || vaddr >= p.Vaddr+p.Memsz && !samePage(vaddr, p) {
			continue
		}
		piece := Piece{Path: e.mod.Path, Offset: p.Off + vaddr - p.Vaddr, Perm: callbacks.Perm(p.Flags & 7)}
		end := p.Off + p.Filesz
		if !piece.Writable() { // the rest of the last page is the file's, too
			end = (end + pageSize - 1) &^ (pageSize - 1)
		}
		piece.fill(e.mod.Image, end)
		if vend := p.Vaddr + p.Memsz; piece.Writable() && vaddr+uint64(len(piece.Data)) < vend {
			piece.Zero = vend - vaddr - uint64(len(piece.Data))
		}
		return piece, true
	}
	return Piece{}, false
}

// samePage reports whether vaddr is in the rest of the last page of a read-only segment: the loader
// maps whole pages of the file.
func samePage(vaddr uint64, p elf.ProgHeader) bool {
	return p.Flags&elf.PF_W == 0 && vaddr < (p.Vaddr+p.Filesz+pageSize-1)&^(pageSize-1)
}

// fill reads the bytes of the image from Offset to end.
func (p *Piece) fill(img callbacks.Image, end uint64) {
	b, ok := img.(interface{ Bytes() []byte })
	if !ok {
		return
	}
	data := b.Bytes()
	if end = min(end, uint64(len(data))); p.Offset < end {
		p.Data = data[p.Offset:end]
	}
}
