#pragma once

#include "curnm/curriculum/options.h"

namespace curnm {

/// Of miners that take negatives as they come.
struct PlainOptions {
  std::int64_t negatives = 1;

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "negatives",
                .help = "negatives per positive (random, recent, ens, taser)",
                .min = 1,
                .max = 1000},
          negatives);
  }
};

inline constexpr std::array<std::string_view, 4> kCorruptions = {"auto", "destination", "both",
                                                                 "half"};

/// Of miners with random negatives that need not keep the source of a positive.
struct CorruptionOptions {
  std::string corrupt = "auto";

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "corrupt",
                .help = "random negatives (random, curnm) replace the destination, both ends, or "
                        "both ends of every other one (auto: half for curnm, destination for "
                        "random)",
                .choices = kCorruptions},
          corrupt);
  }
};

inline constexpr std::array<std::string_view, 3> kPacings = {"linear", "geometric", "root"};
inline constexpr std::array<std::string_view, 2> kEnsTimes = {"last", "first"};
inline constexpr std::array<std::string_view, 2> kEnsPairings = {"source", "batch"};

/// Of ENS. The defaults are its paper's intent; `first` and `batch` are what its program does.
struct EnsOptions {
  std::string ens_pacing = "linear";
  double ens_start = 0.05;
  std::string ens_time = "last";
  std::string ens_pairing = "source";

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "ens-pacing", .help = "course of the difficulty", .choices = kPacings},
          ens_pacing);
    visit(Field{.name = "ens-start",
                .help = "difficulty at the start",
                .min = 0.001,
                .max = 1,
                .symbol = "lambda_0"},
          ens_start);
    visit(Field{.name = "ens-time",
                .help = "age of a former pair by its last (paper) or first event (program)",
                .choices = kEnsTimes},
          ens_time);
    visit(Field{.name = "ens-pairing",
                .help = "historical negatives of the source (paper) or of anyone (program)",
                .choices = kEnsPairings},
          ens_pairing);
  }
};

/// Of TASER's choice of positives.
struct TaserOptions {
  double taser_noise = 0.1;

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "taser-noise",
                .help = "weight that every positive keeps",
                .min = 1e-6,
                .max = 1000,
                .symbol = "gamma"},
          taser_noise);
  }
};

/// What all miners are made from; each uses what concerns it.
struct MinerOptions {
  PlainOptions plain;
  CorruptionOptions corruption;
  EnsOptions ens;
  TaserOptions taser;
  CurnmOptions curnm;

  template <class Visitor>
  void fields(Visitor&& visit) {
    plain.fields(visit);
    corruption.fields(visit);
    ens.fields(visit);
    taser.fields(visit);
    curnm.fields(visit);
  }
};

struct CurnmPreset {
  std::string_view name;
  std::string_view summary;
  MinerOptions options;
};
/// The first is the default.
std::span<const CurnmPreset> curnm_presets();

}  // namespace curnm
