package report

import (
	"io"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// page draws a page of HTML.
func page(w io.Writer, pic *picture.Picture, o Options) error {
	return web.Write(w, pic, web.Options{
		Consequences: func(v *picture.Verdict) []string { return text.Consequences(pic, v) },
		NoVerdict:    text.NoVerdict(pic), Contention: text.Contention(pic), Source: o.Source, Refresh: o.Refresh,
		Made: o.Made,
	})
}
