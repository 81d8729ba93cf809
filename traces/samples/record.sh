#!/usr/bin/env bash
# Makes the bundled recordings again: `traces/samples/record.sh cuda OUT` on a GPU, `record.sh cpu OUT` anywhere.
# Afterwards replace the folders here with those in OUT and write machine, versions and date into ORIGIN.md.
set -euo pipefail
device=$1 out=$2
cd "$(dirname "$0")/../.."
record() { local name=$1; shift; python3 -m explorer.cli run --out "$out/$name" --device "$device" "$@"; }
qwen="--model qwen3-0.6b --dtype bfloat16 --batch 1 --context 500"

case $device in
cuda)
    record h200-eager $qwen --mode eager
    record h200-compile $qwen --mode compile
    record h200-cuda-graph $qwen --mode cuda_graph
    record h200-compile-cuda-graph $qwen --mode compile_cuda_graph
    record h200-best $qwen --mode compile_cuda_graph --joined-projections --autotune --attention flash
    record h200-prefill-eager $qwen --phase prefill --mode eager
    record h200-prefill-compile $qwen --phase prefill --mode compile
    record h200-prefill-autotune $qwen --phase prefill --mode compile --autotune
    record h200-piecewise $qwen --mode piecewise
    record h200-compile-piecewise $qwen --mode compile_piecewise
    python3 -m explorer.cli sweep --out "$out/h200-sweep" --device cuda --model qwen3-0.6b --dtype bfloat16 \
        --rule vllm --max 256 --context 500
    python3 -m explorer.cli attention --out "$out/h200-attention" --device cuda
    python3 -m explorer.cli shapes --out "$out/h200-shapes" --device cuda --model qwen3-0.6b --dtype bfloat16 \
        --context 500 --sizes 8 16 1 --dynamic none
    python3 -m explorer.cli shapes --out "$out/h200-shapes-position" --device cuda --subject position_attribute \
        --sequence same --dynamic none --graphs-only --no-warm
    python3 -m explorer.cli gallery --out "$out/h200-gallery" --device cuda --dtype bfloat16 --rows 8192 --hidden 8192
    ;;
cpu)
    record cpu-tiny-eager --model tiny --dtype float32 --context 64 --mode eager
    record cpu-tiny-compile --model tiny --dtype float32 --context 64 --mode compile
    ;;
esac
