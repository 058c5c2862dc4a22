package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Layout returns where everything lies that the runtimes' readers use.
func (in *Inspector) Layout() []picture.LayoutEntry {
	var out []picture.LayoutEntry
	for _, rt := range in.roster.Runtimes {
		for _, e := range rt.Layout().All() {
			l := picture.LayoutEntry{
				Runtime: rt.ID, Type: e.Type, Name: e.Name, Size: e.Field.Size, Source: e.Source, Agreed: e.Agreed,
			}
			switch {
			case e.Type == "":
				l.Address = picture.Address(e.Global)
			case e.Name != "" && e.Source != "":
				l.Offset, l.Mask = &e.Field.Offset, picture.Address(e.Field.Mask)
			}
			for _, c := range e.Claims {
				l.Claims = append(l.Claims, picture.Claim(c))
			}
			if e.Err != nil {
				l.Error = e.Err.Error()
			}
			out = append(out, l)
		}
	}
	return out
}
