# The headers that programs may include: what `cmake --install` installs, and no other. A public
# header includes public headers only; install.cmake checks it.

# Of the component core: no LibTorch.
set(CURNM_CORE_HEADERS
    base/column.h base/error.h base/feature_scale.h base/interrupt.h base/names.h base/options.h base/pages.h base/parallel.h
    base/path.h base/registry.h base/rng.h base/types.h base/version.h
    data/append.h data/dataset.h data/id_map.h data/open.h data/reader.h data/synthetic.h
    evaluation/baselines.h evaluation/evaluate.h evaluation/goal.h evaluation/measured.h
    evaluation/metrics.h evaluation/negatives.h evaluation/ranking_negatives.h evaluation/results.h
    evaluation/scorer.h evaluation/task.h evaluation/task_features.h
    graph/activity.h graph/blocks.h graph/event_log.h graph/keep.h graph/roles.h
    graph/split.h graph/statistics.h graph/temporal_graph.h
    runs/run_folder.h
    sampling/batch_parts.h sampling/candidates.h sampling/distinct.h sampling/event_batch.h
    sampling/event_draws.h sampling/history.h sampling/indices.h sampling/links.h sampling/negative_kinds.h
    sampling/neighbor_sampler.h sampling/pair_statistics.h sampling/past.h sampling/question.h
    sampling/random_pairs.h sampling/transitions.h sampling/typical_links.h
    sampling/walk_sketch.h)

# Of the component torch.
set(CURNM_TORCH_HEADERS
    decoders/decoder.h decoders/registry.h
    distributed/group.h
    miners/fields.h miners/losses.h miners/miner.h miners/registry.h
    models/model.h models/registry.h
    nn/adam.h nn/fused.h nn/module.h nn/optimizer.h nn/path.h nn/tensor.h nn/tensor_file.h
    nn/tensors.h
    prediction/explanation.h prediction/follower.h prediction/link_model.h prediction/link_scorer.h
    prediction/predictor.h prediction/replay.h prediction/top_query.h prediction/trained_model.h
    training/batches.h training/early_stopping.h training/gradient_exchange.h training/learner.h
    training/observer.h training/options.h training/ranks.h
    training/run_spec.h training/session.h training/shared_batches.h training/step.h
    training/trainer.h)
