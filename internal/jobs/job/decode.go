package job

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
)

// ErrNoPart is the error of a line without a part.
var ErrNoPart = errors.New("not a part of a job")

// Decoder decodes parts from other machines. It remembers the decoded kinds of ranks. The zero value is ready
// for use, by one goroutine at a time.
type Decoder struct{ known map[string]*group }

// maxKnown bounds the kinds that a Decoder remembers.
const maxKnown = 1 << 12

// decode decodes a line of Encode, which may start in the middle of line. It returns ErrNoPart for other lines.
func decode(line []byte) (*Part, error) { return new(Decoder).Decode(line) }

// Decode decodes a line, as the function decode does.
func (d *Decoder) Decode(line []byte) (*Part, error) {
	_, rest, ok := bytes.Cut(line, []byte(lineMark))
	if !ok {
		return nil, ErrNoPart
	}
	if len(rest) > MaxLine {
		return nil, fmt.Errorf("a part of a job has more than %d bytes", MaxLine)
	}
	fields := bytes.Fields(rest)
	if len(fields) < 3 {
		return nil, errors.New("a part of a job is cut off")
	}
	sum, err := strconv.ParseUint(string(fields[0]), 16, 32)
	size, err2 := strconv.Atoi(string(fields[1]))
	payload := fields[2]
	if err != nil || err2 != nil || size != len(payload) || uint32(sum) != crc32.ChecksumIEEE(payload) {
		return nil, errors.New("a part of a job is damaged: its checksum or its length is wrong")
	}
	packed, err := base64.StdEncoding.AppendDecode(nil, payload)
	if err != nil {
		return nil, fmt.Errorf("a part of a job: %w", err)
	}
	text, err := decoder().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("a part of a job: %w", err)
	}
	return d.unpack(text)
}

// unpack parses a message.
func (d *Decoder) unpack(text []byte) (*Part, error) {
	memory := budget.NewLedger(maxDecoded)
	var m message
	if err := jsonx.Unmarshal(text, &m, memory, "its content"); err != nil {
		return nil, fmt.Errorf("a part of a job: %w", err)
	}
	return d.part(&m, memory)
}

// part checks a message, and returns its Part. memory counts what it takes.
func (d *Decoder) part(m *message, memory *budget.Ledger) (*Part, error) {
	p := NewPart()
	p.size = min(max(m.Size, 0), MaxRanks)
	for i := range m.Hosts {
		if err := p.addHost(&m.Hosts[i], memory); err != nil {
			return nil, err
		}
	}
	kinds := 0
	for i := range m.Kinds {
		g, err := d.kind(m.Kinds[i].Kind, memory)
		if err != nil {
			return nil, err
		}
		ranks := m.Kinds[i].Ranks
		p.findGroup(g).join(ranks)
		kinds += ranks.Len()
		p.ranks.join(ranks)
	}
	if kinds != p.ranks.Len() || kinds != p.members.count {
		return nil, errors.New("a part of a job has ranks in no kind, or in several")
	}
	return p, p.addWords(m)
}

// kind returns the group of a kind, without ranks.
func (d *Decoder) kind(raw json.RawMessage, memory *budget.Ledger) (*group, error) {
	if g := d.known[string(raw)]; g != nil {
		return g, nil
	}
	var k Kind
	if err := jsonx.Unmarshal(raw, &k, memory, "a kind of ranks"); err != nil {
		return nil, fmt.Errorf("a part of a job: %w", err)
	}
	if err := k.check(); err != nil {
		return nil, err
	}
	slices.SortFunc(k.Threads, compareCounts)
	g := newGroup(k)
	if d.known == nil {
		d.known = map[string]*group{}
	}
	if len(d.known) < maxKnown {
		d.known[string(raw)] = g
	}
	return g, nil
}

// maxTold bounds the ranks of a message that were inspected in detail, and the lines about each.
const maxTold = 64

// addWords adds the parts of a message that are not about ranks.
func (p *Part) addWords(m *message) error {
	for s, n := range m.Names {
		if len(s) > maxText || len(n.Function) > maxText || len(n.File) > maxText {
			return fmt.Errorf("a part of a job has a name of more than %d bytes", maxText)
		}
	}
	p.join(m.Names)
	for id, f := range m.Files {
		if len(id) > maxText || len(f.ID) > maxText || len(f.Path) > maxText {
			return fmt.Errorf("a part of a job has the name of a file of more than %d bytes", maxText)
		}
	}
	p.joinFiles(m.Files)
	if len(m.Told) > maxTold {
		return fmt.Errorf("a part of a job tells of more than %d ranks in detail", maxTold)
	}
	for rank, words := range m.Told {
		var out []string
		for _, w := range words[:min(len(words), maxTold)] {
			out = append(out, clip(w))
		}
		if rank >= 0 && rank < MaxRanks {
			p.addTold(rank, out)
		}
	}
	for rank, text := range m.Pictures {
		if rank >= 0 && rank < MaxRanks {
			p.Show(rank, text)
		}
	}
	for _, host := range m.Heard {
		p.Hear(clip(host))
	}
	for host, why := range m.Lost {
		p.Lose(clip(host), clip(why))
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), maxText)] }

// addHost adds the members of a host. Ranks that are far apart take a page of memory each.
func (p *Part) addHost(h *hostMessage, memory *budget.Ledger) error {
	n := h.Ranks.Len()
	if len(h.PIDs) != n || len(h.Host) > maxText || h.Peers != nil && len(h.Peers) != n ||
		h.Tags != nil && len(h.Tags) != n || h.Paths != nil && len(h.Paths) != n {
		return errors.New("a part of a job has a host whose lists are not as long as its ranks")
	}
	i := 0
	for rank := range h.Ranks.All {
		if p.members.pages[rank/pageSize] == nil {
			if err := memory.Try("the ranks of a host", uint64(unsafe.Sizeof(page{}))); err != nil {
				return fmt.Errorf("a part of a job: %w", err)
			}
		}
		m := Member{Host: h.Host, PID: h.PIDs[i], Peer: -1}
		if h.Peers != nil {
			m.Peer = h.Peers[i]
		}
		if h.Tags != nil {
			m.Tag = h.Tags[i]
		}
		if h.Paths != nil {
			m.Path = clip(h.Paths[i])
		}
		if _, twice := p.members.get(rank); twice {
			return fmt.Errorf("a part of a job has rank %d twice", rank)
		}
		p.members.set(rank, m)
		i++
	}
	return nil
}

// check checks the limits of a kind.
func (k *Kind) check() error {
	texts := []string{k.Program, string(k.Condition), string(k.Movement), k.Why}
	if c := k.Call; c != nil {
		texts = append(texts, c.Routine, c.Communicator, c.Type, c.Op, c.Unknown, string(c.Site))
	}
	if f := k.Finding; f != nil {
		texts = append(texts, string(f.Kind), f.Summary)
	}
	for _, t := range k.Threads {
		texts = append(texts, t.State)
		if len(t.Where) > maxWhere || t.Threads < 0 || t.Threads > MaxRanks {
			return errors.New("a part of a job has a stack or a number of threads beyond any bound")
		}
		for _, s := range t.Where {
			texts = append(texts, string(s))
		}
	}
	if slices.ContainsFunc(texts, func(s string) bool { return len(s) > maxText }) {
		return fmt.Errorf("a part of a job has a text of more than %d bytes", maxText)
	}
	return nil
}
