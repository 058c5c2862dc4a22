// Joinelf makes one executable of two that are linked for addresses of their own: both are
// mapped, and the code at the second one's entry chooses which of the two runs.
//
//	joinelf FIRST            prints where the first begins, for the second to jump there
//	joinelf FIRST SECOND OUT joins the two
//
// Tools that read sections, such as `go version`, see the first.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "joinelf: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 && len(args) != 3 {
		return errors.New("it is joinelf FIRST [SECOND OUT]")
	}
	first, err := open(args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		_, err := fmt.Fprintf(os.Stdout, "%#x\n", first.header.Entry)
		return err
	}
	second, err := open(args[1])
	if err != nil {
		return err
	}
	out, err := join(first, second)
	if err != nil {
		return err
	}
	const suffix = ".joined" // a program that runs cannot be written
	return errors.Join(os.WriteFile(args[2]+suffix, out, 0o755), os.Rename(args[2]+suffix, args[2]))
}

// image is an executable.
type image struct {
	content []byte
	header  elf.Header64
	progs   []elf.Prog64
}

// open reads an executable of fixed addresses.
func open(name string) (*image, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	i := &image{content: content}
	r := bytes.NewReader(content)
	if err := binary.Read(r, binary.LittleEndian, &i.header); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	h := &i.header
	if string(h.Ident[:4]) != elf.ELFMAG || elf.Type(h.Type) != elf.ET_EXEC ||
		h.Phentsize != uint16(binary.Size(elf.Prog64{})) {
		return nil, fmt.Errorf("%s is no executable of fixed addresses", name)
	}
	if _, err := r.Seek(int64(h.Phoff), 0); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	i.progs = make([]elf.Prog64, h.Phnum)
	if err := binary.Read(r, binary.LittleEndian, i.progs); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return i, nil
}

// loads are the segments that are mapped, in the order of their addresses.
func (i *image) loads() []elf.Prog64 {
	var out []elf.Prog64
	for _, p := range i.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD {
			out = append(out, p)
		}
	}
	return out
}

// join is the first with the segments of the second behind its own. The file of the second
// follows that of the first, and then the section headers of the first, as program headers
// take their place.
func join(first, second *image) ([]byte, error) {
	mine, its := first.loads(), second.loads()
	if len(mine) == 0 || len(its) == 0 || first.header.Machine != second.header.Machine {
		return nil, errors.New("these are no two programs of one machine")
	}
	align := its[0].Align
	if end := mine[len(mine)-1]; end.Vaddr+end.Memsz+align > its[0].Vaddr {
		return nil, fmt.Errorf("the first ends at %#x, and the second begins at %#x", end.Vaddr+end.Memsz, its[0].Vaddr)
	}
	out := slices.Clone(first.content)
	out = append(out, make([]byte, -uint64(len(out))%align)...)
	base := uint64(len(out))
	out = append(out, second.content...)
	progs := slices.Clone(first.progs)
	after := 1 + slices.IndexFunc(progs, func(p elf.Prog64) bool { return p == mine[len(mine)-1] })
	for i := range its {
		its[i].Off += base
	}
	progs = slices.Insert(progs, after, its...)
	h := first.header
	headers := h.Phoff + uint64(len(progs))*uint64(h.Phentsize)
	if headers > firstByte(first) {
		return nil, fmt.Errorf("%d program headers have no room", len(progs))
	}
	for i := range progs {
		if elf.ProgType(progs[i].Type) == elf.PT_PHDR {
			progs[i].Filesz = headers - h.Phoff
			progs[i].Memsz = progs[i].Filesz
		}
	}
	out = append(out, make([]byte, -uint64(len(out))%8)...)
	sections := first.content[h.Shoff:][:uint64(h.Shnum)*uint64(h.Shentsize)]
	h.Shoff, h.Entry, h.Phnum = uint64(len(out)), second.header.Entry, uint16(len(progs))
	out = append(out, sections...)
	var head bytes.Buffer
	err := errors.Join(binary.Write(&head, binary.LittleEndian, h), binary.Write(&head, binary.LittleEndian, progs))
	copy(out, head.Bytes())
	return out, err
}

// firstByte is where what is mapped beside headers begins in a file: at its notes.
func firstByte(i *image) uint64 {
	first := uint64(1 << 12) // Go's linker keeps as much for headers
	for _, p := range i.progs {
		if elf.ProgType(p.Type) == elf.PT_NOTE {
			first = min(first, p.Off)
		}
	}
	return first
}
