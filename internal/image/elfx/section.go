package elfx

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// maxUnpacked bounds a decompressed section. The largest common one, the .debug_info of a browser, is a little
// over 1 GiB.
const maxUnpacked = 4 << 30

// maxWindow bounds the memory of the zstd decoder, in bytes: the zstd tool needs an option to write
// files that need more.
const maxWindow = 128 << 20

// trustedRatio is the ratio of compression up to which the announced size is
// allocated at once; beyond it, memory grows as the data arrives.
const trustedRatio = 16

// Section returns the content of the first section with that name, decompressed, and its header. A section
// .zdebug_x is found by the name .debug_x. A missing section, or one without bytes in the file, is
// ErrNoSection. The caller must not change the content.
func (f *File) Section(name string) ([]byte, elf.SectionHeader, error) {
	s, gnu := f.findSection(name)
	if s == nil || s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL {
		return nil, elf.SectionHeader{}, fmt.Errorf("%w: %s", ErrNoSection, name)
	}
	if !gnu && s.Flags&elf.SHF_COMPRESSED == 0 {
		b, err := f.rawSection(s)
		if err != nil {
			return nil, *s, fmt.Errorf("section %s: %w", name, err)
		}
		return b, *s, nil
	}
	b, err := f.unpackedSection(s, gnu)
	if err != nil {
		return nil, *s, fmt.Errorf("section %s: %w", name, err)
	}
	h := *s
	h.Size = uint64(len(b))
	return b, h, nil
}

// findSection also reports whether the section is compressed in GNU's old format, with its own name.
func (c *contents) findSection(name string) (s *elf.SectionHeader, gnu bool) {
	for i := range c.sections {
		if c.sections[i].Name == name {
			return &c.sections[i], false
		}
	}
	if len(name) > 7 && name[:7] == ".debug_" {
		s, _ = c.findSection(".zdebug_" + name[7:])
	}
	return s, s != nil
}

// rawSection returns the bytes of a section as stored in the file.
func (c *contents) rawSection(s *elf.SectionHeader) ([]byte, error) {
	if s.Type == elf.SHT_NOBITS {
		return nil, ErrNoSection
	}
	return c.bytesAt(s.Offset, s.Size)
}

// unpackedSection decompresses a section once and keeps it.
func (f *File) unpackedSection(s *elf.SectionHeader, gnu bool) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.unpacked[s.Name]; ok {
		return b, nil
	}
	raw, err := f.rawSection(s)
	if err != nil {
		return nil, err
	}
	b, err := unpack(raw, gnu, counted{f.memory, "section " + s.Name})
	if err == nil {
		f.unpacked[s.Name] = b
	}
	return b, err
}

// unpack decompresses a section that starts with an Elf64_Chdr or, in GNU's old format, with "ZLIB"
// and a big-endian size.
func unpack(raw []byte, gnu bool, c counted) ([]byte, error) {
	const chdrSize, gnuSize = 24, 12
	if gnu {
		if len(raw) < gnuSize || string(raw[:4]) != "ZLIB" {
			return nil, fmt.Errorf("%w: compressed section without its header", ErrDamaged)
		}
		return inflate(elf.COMPRESS_ZLIB, raw[gnuSize:], binary.BigEndian.Uint64(raw[4:]), c)
	}
	if len(raw) < chdrSize {
		return nil, fmt.Errorf("%w: compressed section without its header", ErrDamaged)
	}
	kind := elf.CompressionType(binary.LittleEndian.Uint32(raw))
	return inflate(kind, raw[chdrSize:], binary.LittleEndian.Uint64(raw[8:]), c)
}

// inflate decompresses a section that declares size bytes and must have exactly these. The ledger
// counts bytes as they are decompressed, because the declared size is untrusted.
func inflate(kind elf.CompressionType, packed []byte, size uint64, c counted) ([]byte, error) {
	if size > maxUnpacked {
		return nil, fmt.Errorf("%w: a section of %d bytes is over the limit of %d", ErrDamaged, size,
			uint64(maxUnpacked))
	}
	var r io.Reader
	switch kind {
	case elf.COMPRESS_ZLIB:
		z, err := zlib.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	case elf.COMPRESS_ZSTD:
		z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return nil, fmt.Errorf("%w: compression %v is not known", ErrDamaged, kind)
	}
	b, err := c.readAll(r, size, min(size, uint64(len(packed))*trustedRatio))
	if err != nil {
		return nil, err
	}
	if uint64(len(b)) != size {
		return nil, fmt.Errorf("%w: %d bytes decompressed, %d announced", ErrDamaged, len(b), size)
	}
	return b, nil
}

// counted takes memory for one purpose.
type counted struct {
	memory *budget.Ledger
	what   string
}

// readAll reads at most size bytes into counted memory: likely bytes first, then doubled whenever it is full.
func (c counted) readAll(r io.Reader, size, likely uint64) ([]byte, error) {
	if err := c.memory.Take(c.what, likely); err != nil {
		return nil, err
	}
	b := make([]byte, 0, likely)
	for uint64(len(b)) < size {
		if len(b) == cap(b) {
			more := min(max(uint64(cap(b)), smallCopy), size-uint64(len(b)))
			if err := c.memory.Take(c.what, more); err != nil {
				c.memory.Give(uint64(cap(b)))
				return nil, err
			}
			grown := make([]byte, len(b), uint64(cap(b))+more)
			copy(grown, b)
			b = grown
		}
		n, err := r.Read(b[len(b):cap(b)])
		if b = b[:len(b)+n]; err == io.EOF {
			break
		}
		if err != nil {
			c.memory.Give(uint64(cap(b)))
			return nil, err
		}
	}
	return b, nil
}

// ReadAllWithMemory reads all of r, at most size bytes, and charges that to l. what names the data for
// errors.
func ReadAllWithMemory(l *budget.Ledger, what string, r io.Reader, size uint64) ([]byte, error) {
	return counted{l, what}.readAll(r, size, min(size, smallCopy))
}
