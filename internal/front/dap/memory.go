package dap

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"
	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Limits of one request for memory or code.
const (
	maxMemory       = 1 << 20 // bytes
	maxInstructions = 1 << 12
)

// parseAddress parses a reference that this adapter sent or the user typed.
func parseAddress(reference string, offset int) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(reference), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an address", reference)
	}
	return n + uint64(offset), nil
}

// readMemory reads memory up to the first byte that cannot be read.
func (a *adapter) readMemory(
	ctx context.Context, args godap.ReadMemoryArguments,
) (body godap.ReadMemoryResponseBody, err error) {
	at, err := parseAddress(args.MemoryReference, args.Offset)
	if err != nil {
		return body, err
	}
	if args.Count < 0 || args.Count > maxMemory {
		return body, fmt.Errorf("%d bytes: it must be 0 to %d", args.Count, maxMemory)
	}
	var data []byte
	err = a.withTarget(ctx, func(t callbacks.Target) error {
		data = readPages(t, at, args.Count)
		return nil
	})
	body.Address, body.Data = picture.Hex(at).String(), base64.StdEncoding.EncodeToString(data)
	body.UnreadableBytes = args.Count - len(data)
	return body, err
}

// pageSize is the size of a page, or a fraction of it.
const pageSize = 4 << 10

// readPages reads up to n bytes, page by page, and returns those before the first page that cannot be read.
func readPages(mem callbacks.Memory, at uint64, n int) []byte {
	data := make([]byte, n)
	done := 0
	for done < n {
		here := at + uint64(done)
		part := min(n-done, int(pageSize-here%pageSize))
		err := mem.ReadMemory(callbacks.Addr(here), data[done:done+part])
		if fault := (*callbacks.FaultError)(nil); err != nil && errors.As(err, &fault) && fault.Address.Offset > here {
			part = min(int(fault.Address.Offset-here), part)
			if mem.ReadMemory(callbacks.Addr(here), data[done:done+part]) == nil {
				done += part
			}
			break
		}
		if err != nil {
			break
		}
		done += part
	}
	return data[:done]
}

// disassemble decodes code. The protocol requires exactly as many instructions as requested; some of them may
// be before the address.
func (a *adapter) disassemble(
	ctx context.Context, args godap.DisassembleArguments,
) (body godap.DisassembleResponseBody, err error) {
	at, err := parseAddress(args.MemoryReference, args.Offset)
	if err != nil {
		return body, err
	}
	skip := args.InstructionOffset
	if args.InstructionCount < 0 || args.InstructionCount > maxInstructions || max(skip, -skip) > maxInstructions {
		return body, fmt.Errorf("%d instructions from offset %d: the limit is %d", args.InstructionCount, skip,
			maxInstructions)
	}
	err = a.withTarget(ctx, func(t callbacks.Target) error {
		d := disassembler{arch: t.Arch(), mem: t, starts: a.view.codeStarts(at)}
		body.Instructions = d.list(at, skip, args.InstructionCount)
		return nil
	})
	return body, err
}

// codeStarts returns addresses before at that are known starts of instructions: entries of functions, and
// return addresses on stacks; in descending order.
func (v *view) codeStarts(at uint64) []uint64 {
	var out []uint64
	add := func(h *picture.Hex) {
		if h != nil && uint64(*h) <= at {
			out = append(out, uint64(*h))
		}
	}
	for i := range v.pic.Threads {
		for _, f := range slices.Concat(v.pic.Threads[i].Stack, v.pic.Threads[i].UserStack) {
			add(f.PC)
			add(f.Entry)
		}
	}
	slices.SortFunc(out, func(x, y uint64) int { return cmp.Compare(y, x) })
	return slices.Compact(out)
}

// disassembler decodes the code of a target.
type disassembler struct {
	arch   callbacks.Arch
	mem    callbacks.Memory
	starts []uint64 // starts of instructions, descending
}

// longest is the length of the longest instruction, in bytes.
const longest = 15

// list returns n instructions, starting skip instructions after an address.
func (d *disassembler) list(at uint64, skip, n int) []godap.DisassembledInstruction {
	out := []godap.DisassembledInstruction{}
	if skip < 0 {
		before := d.instructionsBefore(at, -skip)
		out = append(out, before[:min(n, len(before))]...)
		n, skip = n-len(out), 0
	}
	for i := range skip + max(n, 0) {
		one, size := d.decode(at)
		if n > 0 && i >= skip {
			out = append(out, one)
		}
		at += uint64(size)
	}
	return out
}

// instructionsBefore returns the n instructions before an address. If no start of an instruction is known there, they
// are marked invalid.
func (d *disassembler) instructionsBefore(at uint64, n int) []godap.DisassembledInstruction {
	var list []godap.DisassembledInstruction
	for _, start := range d.starts {
		if at-start > uint64(n+maxInstructions)*longest {
			break
		}
		list = list[:0]
		here := start
		for here < at {
			one, size := d.decode(here)
			list = append(list, one)
			here += uint64(size)
		}
		if here == at && len(list) >= n {
			return list[len(list)-n:]
		}
		if here != at {
			list = list[:0]
		}
	}
	missing := make([]godap.DisassembledInstruction, n-len(list))
	for i := range missing {
		missing[i].Address, missing[i].Instruction = picture.Hex(at-uint64(n-i)).String(), "(not known)"
	}
	return append(missing, list...)
}

// decode decodes an instruction. size is its length.
func (d *disassembler) decode(at uint64) (out godap.DisassembledInstruction, size int) {
	out.Address = picture.Hex(at).String()
	code := readPages(d.mem, at, longest)
	if len(code) == 0 {
		out.Instruction = "(not readable)"
		return out, 1
	}
	out.Instruction, size = d.text(code, at)
	size = min(max(size, 1), len(code))
	out.InstructionBytes = hex.EncodeToString(code[:size])
	return out, size
}

// text returns an instruction in assembler syntax.
func (d *disassembler) text(code []byte, at uint64) (string, int) {
	if text := assembly[d.arch]; text != nil {
		return text(code, at)
	}
	return unknownInstruction, 1
}

const unknownInstruction = "(unknown)"

var assembly = map[callbacks.Arch]func(code []byte, at uint64) (text string, size int){
	callbacks.ArchX86_64:  x86Text,
	callbacks.ArchAArch64: arm64Text,
}

func x86Text(code []byte, at uint64) (string, int) {
	inst, err := x86asm.Decode(code, 64)
	if err != nil {
		return unknownInstruction, 1
	}
	return x86asm.GNUSyntax(inst, at, nil), inst.Len
}

func arm64Text(code []byte, _ uint64) (string, int) {
	const size = 4
	inst, err := arm64asm.Decode(code)
	if err != nil {
		return unknownInstruction, size
	}
	return arm64asm.GNUSyntax(inst), size
}
