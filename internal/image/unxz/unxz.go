// Package unxz decompresses .xz files that may be built to exhaust memory. A file declares the size of the
// dictionary of its blocks, up to 4 GiB, and the decoder allocates all of it. This package charges it before.
package unxz

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// NewReader returns the decompressed bytes of r, one stream of blocks, as xz and systemd-coredump write it. The
// dictionary is charged to l until done is called.
func NewReader(l *budget.Ledger, r io.Reader) (out io.Reader, done func(), err error) {
	g := &guard{r: bufio.NewReader(r), memory: l.Part(), want: streamHeader, step: (*guard).stream}
	c := xz.ReaderConfig{DictCap: lzma.MinDictCap, SingleStream: true}
	if out, err = c.NewReader(g); err != nil {
		g.memory.Close()
		return nil, nil, err
	}
	return out, g.memory.Close, nil
}

// streamHeader is the size of the header of a stream; its flags are in byte 7.
const streamHeader = 12

// errForm reports damage that the decoder would find, too.
var errForm = errors.New("xz: not of the form of a stream")

// guard parses the headers of a stream while the decoder reads it: those of the stream, of blocks
// and of their chunks. It skips content by its size. A header is charged before the decoder has all
// of it.
type guard struct {
	r      io.Reader
	memory *budget.Ledger
	dict   uint64 // charged bytes

	step func(*guard) error // processes head once it has want bytes
	head []byte
	want int
	skip int64

	check  int64 // size of the checksum of a block
	packed int64 // bytes of the present block after its header
}

// Read implements io.Reader.
func (g *guard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if bad := g.follow(p[:n]); bad != nil {
		return 0, bad
	}
	return n, err
}

// follow parses the next bytes.
func (g *guard) follow(p []byte) error {
	for len(p) > 0 {
		if g.skip > 0 {
			n := min(g.skip, int64(len(p)))
			g.skip, p = g.skip-n, p[n:]
			continue
		}
		n := min(g.want-len(g.head), len(p))
		g.head, p = append(g.head, p[:n]...), p[n:]
		if len(g.head) < g.want {
			return nil
		}
		if err := g.step(g); err != nil {
			return err
		}
		g.head = g.head[:0]
	}
	return nil
}

// next sets the parser of the bytes after the skipped ones.
func (g *guard) next(step func(*guard) error, want int, skip int64) {
	g.step, g.want, g.skip = step, want, skip
}

// stream parses the header of the stream.
func (g *guard) stream() error {
	g.check = map[byte]int64{0: 0, 1: 4, 4: 8, 10: 32}[g.head[7]&15]
	g.next((*guard).blockSize, 1, 0)
	return nil
}

// blockSize parses the first byte of a block, or of the index, which is the end.
func (g *guard) blockSize() error {
	if g.head[0] == 0 {
		g.next((*guard).blockSize, 1, math.MaxInt64)
		return nil
	}
	g.next((*guard).block, 4*int(g.head[0])+3, 0)
	return nil
}

// Parts of the header of a block: flags, each size only if its bit is set, and a filter. The decoder supports
// only LZMA2.
const (
	sizePacked   = 0x40
	sizeUnpacked = 0x80
	filterLZMA2  = 0x21
)

// block parses the rest of the header of a block.
func (g *guard) block() error {
	b := g.head[1:]
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[max(n, 0):]
		return v
	}
	for _, size := range []byte{sizePacked, sizeUnpacked} {
		if g.head[0]&size != 0 {
			number()
		}
	}
	if number() != filterLZMA2 || number() != 1 || len(b) == 0 {
		return errForm
	}
	if err := g.count(dictionary(b[0])); err != nil {
		return err
	}
	g.packed = 0
	g.next((*guard).chunk, 1, 0)
	return nil
}

// dictionary returns the size that a property of the filter encodes.
func dictionary(property byte) uint64 {
	bits := uint64(property & 63)
	return (2 | bits&1) << (bits/2 + 11)
}

// count charges the dictionary of a block in place of the preceding block's.
func (g *guard) count(n uint64) error {
	if n <= g.dict {
		return nil
	}
	if err := g.memory.Take("dictionary of an xz file", n-g.dict); err != nil {
		return fmt.Errorf("xz: %w", err)
	}
	g.dict = n
	return nil
}

// chunk parses the first byte of a chunk: its kind.
func (g *guard) chunk() error {
	const plain, afterReset, packed = 1, 2, 0x80
	g.packed++
	switch c := g.head[0]; {
	case c == 0: // the end of the block: padding and the checksum
		g.next((*guard).blockSize, 1, -g.packed&3+g.check)
	case c == plain || c == afterReset:
		g.next((*guard).plainSize, 2, 0)
	case c >= packed:
		g.next((*guard).packedSize, 4+int(c>>6&1), 0)
	default:
		return errForm
	}
	return nil
}

// plainSize parses the size of an uncompressed chunk.
func (g *guard) plainSize() error { return g.content(g.head) }

// packedSize parses the sizes of a compressed chunk; the second is the one in the file; properties may follow.
func (g *guard) packedSize() error { return g.content(g.head[2:4]) }

// content skips the content of a chunk.
func (g *guard) content(size []byte) error {
	n := int64(binary.BigEndian.Uint16(size)) + 1
	g.packed += int64(len(g.head)) + n
	g.next((*guard).chunk, 1, n)
	return nil
}
