package symbolize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// OneFile names the code of one file by the file's own addresses, without a target.
type OneFile struct {
	*Symbolizer
	closer io.Closer // of the file; may be nil
}

// OpenFile opens the file at path, which must have build ID id. If the file is missing, or is of
// another build, separate debug files are searched by the build ID.
func OpenFile(path string, id []byte, o Options) (*OneFile, error) {
	if len(id) == 0 {
		return nil, fmt.Errorf("%s: it has no build ID to know it by", path)
	}
	mod := &callbacks.Module{
		Path: path, BuildID: id, Low: callbacks.Addr(0), High: callbacks.Addr(math.MaxUint64), Main: true,
	}
	out := &OneFile{}
	f, closer, err := elfx.OpenFile(o.Open).Path(budget.LedgerOf(o.Memory), path)
	switch {
	case err != nil:
		mod.Err = err
	case !bytes.Equal(f.BuildID(), id):
		mod.Err = errors.Join(fmt.Errorf("%s: it %w (build ID %x, not %x)", path, errMismatch, f.BuildID(), id),
			closer.Close())
	default:
		mod.File, mod.Image, out.closer = path, f.Image(), closer
	}
	out.Symbolizer = New([]*callbacks.Module{mod}, o)
	return out, nil
}

// Close frees the file.
func (f *OneFile) Close() error {
	err := f.Symbolizer.Close()
	if f.closer != nil {
		err = errors.Join(err, f.closer.Close())
	}
	return err
}
