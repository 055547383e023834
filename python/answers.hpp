#pragma once
// Answers of the library as dicts, by the names of its fields: what the classes of
// headroom/_answers.py are made of.

#include <nanobind/nanobind.h>

#include <vector>

#include "sim/api/headroom.hpp"

namespace headroom::python {

[[nodiscard]] nanobind::dict fields_of(const api::RunAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::CapacityAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::AuditAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::AskAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::CompareAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::SweepPoint& point);
[[nodiscard]] nanobind::dict fields_of(const api::TuneAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::CheckAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::EmitAnswer& answer);
[[nodiscard]] nanobind::dict fields_of(const api::PlanAnswer& answer);

}  // namespace headroom::python
