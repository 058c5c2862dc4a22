package picture

// Check is a prerequisite of the tool in a target, and its status.
type Check struct {
	Name   string      `json:"name" pb:"1"`
	Status CheckStatus `json:"status" pb:"2"`
	Detail string      `json:"detail" pb:"3"`
	Fix    string      `json:"fix,omitempty" pb:"4"` // the next command, or the change to make
}
