#include "curnm/training/options.h"

namespace curnm {

void TrainOptions::fields(const FieldVisitor& visit) {
  visit({.name = "model", .help = "model to train (curnm list)"}, model);
  visit({.name = "decoder", .help = "how embeddings become scores (curnm list)"}, decoder);
  visit({.name = "miner", .help = "how negatives are chosen (curnm list)"}, miner);
  visit(
      {.name = "epochs", .help = "at most this many epochs", .min = 1, .max = 1e6, .symbol = "E_0"},
      epochs);
  visit({.name = "batch", .help = "positives per batch", .min = 1, .max = 1e6, .symbol = "B"},
        batch);
  visit({.name = "learning-rate", .help = "of Adam", .min = 1e-9, .max = 10}, learning_rate);
  visit({.name = "weight-decay",
         .help = "weight of the squared parameters of model and decoder",
         .min = 0,
         .max = 1,
         .symbol = "mu"},
        weight_decay);
  visit({.name = "patience",
         .help = "epochs without improvement before stopping",
         .min = 1,
         .max = 1e6},
        patience);
  visit({.name = "tolerance", .help = "relative improvement that counts", .min = 0, .max = 1},
        tolerance);
  visit({.name = "goal",
         .help = "questions that matter: which destination, which former partner, which pair, or "
                 "all alike"},
        goal);
  visit({.name = "select-on",
         .help = "what chooses the best epoch: validation AP of the goal or of a protocol, or the "
                 "MRR among --rank-among destinations"},
        select_on);
  visit(
      {.name = "features",
       .help = "features of events and nodes: on one scale, fitted to the training events, or raw"},
      features);
  // The largest integer that JSON readers keep exact.
  visit({.name = "seed", .help = "of all draws", .min = 0, .max = 9223372036854775807.0}, seed);
  visit({.name = "device", .help = "cpu, cuda, cuda:1, ..."}, device);
  visit({.name = "path", .help = "fast (fused kernels, on the CPU) or plain (tensor operations)"},
        path);
}

}  // namespace curnm
