package inspect

// LayoutEntry says where one field, structure size or global of a runtime lies,
// and who said so.
type LayoutEntry struct {
	Runtime string   `json:"runtime"`
	Type    string   `json:"type,omitempty"`   // missing for a global variable
	Name    string   `json:"name,omitempty"`   // field or global; missing for the size of a type
	Offset  *uint64  `json:"offset,omitempty"` // of a field, bytes
	Size    uint64   `json:"size,omitempty"`   // bytes
	Mask    *Hex     `json:"mask,omitempty"`   // of a bit field, in the word of Size bytes at Offset
	Address *Hex     `json:"address,omitempty"`
	Source  string   `json:"source,omitempty"` // missing if refused or not known
	Agreed  []string `json:"agreed,omitempty"`
	Claims  []Claim  `json:"claims,omitempty"` // what each source said, if they differ
	Error   string   `json:"error,omitempty"`
}

// Claim is what one source said.
type Claim struct {
	Source string `json:"source"`
	Value  string `json:"value"`
}

// Layout returns where everything lies that the runtimes' readers use.
func (in *Inspector) Layout() []LayoutEntry {
	var out []LayoutEntry
	for _, rt := range in.runtimes {
		for _, e := range rt.Layout().Entries {
			l := LayoutEntry{Runtime: rt.id, Type: e.Type, Name: e.Name, Size: e.Field.Size, Source: e.Source, Agreed: e.Agreed}
			switch {
			case e.Type == "":
				l.Address = hexPtr(e.Global)
			case e.Name != "" && e.Source != "":
				l.Offset, l.Mask = &e.Field.Offset, hexPtr(e.Field.Mask)
			}
			for _, c := range e.Claims {
				l.Claims = append(l.Claims, Claim(c))
			}
			if e.Err != nil {
				l.Error = e.Err.Error()
			}
			out = append(out, l)
		}
	}
	return out
}
