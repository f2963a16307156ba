// What LLVM's scheduling model of a core says of each sample on standard input.
//
//     timings CPU <samples >model      (samples: FORM,HEX,... a line; see crates/corun-model/examples/forms.rs)
//
// Prints FORM,MICRO_OPERATIONS,LATENCY,RESOURCES: resources are units joined by | with :cycles, separated
// by blanks. Forms that LLVM cannot decode or has no model of are left out.

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSchedule.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>


using namespace llvm;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86Disassembler();
}

namespace {

struct Use {
    std::set<unsigned> units;
    int cycles;
};

std::set<unsigned> unitsOf(const MCSchedModel &model, unsigned index) {
    const MCProcResourceDesc &resource = *model.getProcResource(index);
    if (!resource.SubUnitsIdxBegin) return {index};
    std::set<unsigned> units;
    for (unsigned unit = 0; unit < resource.NumUnits; unit++) {
        auto inner = unitsOf(model, resource.SubUnitsIdxBegin[unit]);
        units.insert(inner.begin(), inner.end());
    }
    return units;
}

// A class lists each unit's groups too; what the unit uses is no further use of the group. The same as
// llvm-mca does (InstrBuilder.cpp, initializeUsedResources).
std::vector<Use> usesOf(const MCSubtargetInfo &subtarget, const MCSchedClassDesc &desc) {
    const MCSchedModel &model = subtarget.getSchedModel();
    std::vector<Use> uses;
    for (auto entry = subtarget.getWriteProcResBegin(&desc); entry != subtarget.getWriteProcResEnd(&desc); entry++)
        uses.push_back({unitsOf(model, entry->ProcResourceIdx), entry->ReleaseAtCycle});
    std::stable_sort(uses.begin(), uses.end(),
                     [](const Use &a, const Use &b) { return a.units.size() < b.units.size(); });
    for (size_t inner = 0; inner < uses.size(); inner++) {
        if (uses[inner].cycles <= 0) continue;
        for (size_t outer = inner + 1; outer < uses.size(); outer++)
            if (std::includes(uses[outer].units.begin(), uses[outer].units.end(), uses[inner].units.begin(),
                              uses[inner].units.end()))
                uses[outer].cycles -= uses[inner].cycles;
    }
    uses.erase(std::remove_if(uses.begin(), uses.end(), [](const Use &use) { return use.cycles <= 0; }), uses.end());
    return uses;
}

std::vector<uint8_t> bytesOf(const std::string &hex) {
    std::vector<uint8_t> bytes;
    for (size_t at = 0; at + 1 < hex.size(); at += 2) bytes.push_back(std::stoi(hex.substr(at, 2), nullptr, 16));
    return bytes;
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 2) {
        std::cerr << "usage: timings CPU <samples >model\n";
        return 2;
    }
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    const std::string triple = "x86_64-pc-linux-gnu", cpu = arguments[1];
    std::string error;
    const Target *target = TargetRegistry::lookupTarget(triple, error);
    if (!target) {
        std::cerr << "timings: " << error << "\n";
        return 1;
    }
    std::unique_ptr<MCRegisterInfo> registers(target->createMCRegInfo(triple));
    MCTargetOptions options;
    std::unique_ptr<MCAsmInfo> assembler(target->createMCAsmInfo(*registers, triple, options));
    std::unique_ptr<MCInstrInfo> instructions(target->createMCInstrInfo());
    std::unique_ptr<MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, cpu, ""));
    if (!subtarget || !subtarget->isCPUStringValid(cpu) || !subtarget->getSchedModel().hasInstrSchedModel()) {
        std::cerr << "timings: LLVM has no scheduling model of " << cpu << "\n";
        return 1;
    }
    MCContext context(Triple(triple), assembler.get(), registers.get(), subtarget.get());
    std::unique_ptr<MCDisassembler> disassembler(target->createMCDisassembler(*subtarget, context));
    const MCSchedModel &model = subtarget->getSchedModel();

    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream columns(line);
        std::string form, hex;
        std::getline(columns, form, ',');
        std::getline(columns, hex, ',');
        const auto bytes = bytesOf(hex);
        MCInst instruction;
        uint64_t size = 0;
        if (disassembler->getInstruction(instruction, size, bytes, 0, nulls()) != MCDisassembler::Success) continue;
        if (size != bytes.size()) continue;
        const MCInstrDesc &description = instructions->get(instruction.getOpcode());
        unsigned schedule = description.getSchedClass();
        const MCSchedClassDesc *desc = model.getSchedClassDesc(schedule);
        while (desc->isVariant()) {
            schedule = subtarget->resolveVariantSchedClass(schedule, &instruction, instructions.get(), model.getProcessorID());
            if (!schedule) break;
            desc = model.getSchedClassDesc(schedule);
        }
        if (!schedule || !desc->isValid()) continue;

        int latency = 0;
        for (unsigned result = 0; result < desc->NumWriteLatencyEntries; result++)
            latency = std::max<int>(latency, subtarget->getWriteLatencyEntry(desc, result)->Cycles);
        std::cout << form << ',' << desc->NumMicroOps << ',' << latency << ',';
        bool first = true;
        for (const Use &use : usesOf(*subtarget, *desc)) {
            std::cout << (first ? "" : " ");
            first = false;
            bool inner = false;
            for (unsigned unit : use.units) {
                std::cout << (inner ? "|" : "") << model.getProcResource(unit)->Name;
                inner = true;
            }
            std::cout << ':' << use.cycles;
        }
        std::cout << '\n';
    }
}
