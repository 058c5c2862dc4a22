package picture

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
