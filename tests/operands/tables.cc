// What LLVM's tables of instructions say of machine code: registers defined and used, also those without an operand.
//
//   tables TRIPLE FEATURES < code > facts
//
// In: one instruction a line, as hexadecimal bytes. Out: for each line the name of the opcode, the length, the
// registers defined and those used, separated by tabs; `-` in place of the name where LLVM knows no instruction.

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include <iostream>
#include <set>
#include <string>
#include <vector>

using namespace llvm;
using Names = std::set<std::string>;

static std::vector<uint8_t> bytesOf(const std::string &Line) {
  std::vector<uint8_t> Bytes;
  for (size_t I = 0; I + 1 < Line.size(); I += 2)
    Bytes.push_back(std::stoi(Line.substr(I, 2), nullptr, 16));
  return Bytes;
}

static void print(const Names &Registers) {
  std::cout << '\t';
  const char *Separator = "";
  for (const auto &Name : Registers) {
    std::cout << Separator << Name;
    Separator = ",";
  }
}

static void printFacts(const MCInst &Inst, uint64_t Length, const MCInstrInfo &Instrs, const MCRegisterInfo &Regs) {
  const MCInstrDesc &Desc = Instrs.get(Inst.getOpcode());
  Names Defined, Used;
  for (unsigned I = 0; I < Inst.getNumOperands(); ++I) {
    const MCOperand &Operand = Inst.getOperand(I);
    if (Operand.isReg() && Operand.getReg())
      (I < Desc.getNumDefs() ? Defined : Used).insert(Regs.getName(Operand.getReg()));
  }
  for (auto Reg : Desc.implicit_defs())
    Defined.insert(Regs.getName(Reg));
  for (auto Reg : Desc.implicit_uses())
    Used.insert(Regs.getName(Reg));
  std::cout << Instrs.getName(Inst.getOpcode()).str() << '\t' << Length;
  print(Defined);
  print(Used);
  std::cout << '\n';
}

int main(int Count, char **Arguments) {
  if (Count != 3)
    return 2;
  std::string Triple = Arguments[1], Features = Arguments[2], Error, Line;
  InitializeAllTargetInfos();
  InitializeAllTargetMCs();
  InitializeAllDisassemblers();
  const Target *Target = TargetRegistry::lookupTarget(Triple, Error);
  if (!Target) {
    std::cerr << Error << '\n';
    return 1;
  }
  auto *Regs = Target->createMCRegInfo(Triple);
  auto *Info = Target->createMCAsmInfo(*Regs, Triple, MCTargetOptions());
  auto *Instrs = Target->createMCInstrInfo();
  auto *Subtarget = Target->createMCSubtargetInfo(Triple, "", Features);
  MCContext Context(llvm::Triple(Triple), Info, Regs, Subtarget);
  auto *Disassembler = Target->createMCDisassembler(*Subtarget, Context);
  while (std::getline(std::cin, Line)) {
    MCInst Inst;
    uint64_t Length = 0;
    auto Bytes = bytesOf(Line);
    if (Disassembler->getInstruction(Inst, Length, Bytes, 0x1000, nulls()) == MCDisassembler::Success)
      printFacts(Inst, Length, *Instrs, *Regs);
    else
      std::cout << "-\n";
  }
}
