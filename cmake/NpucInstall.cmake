# SPDX-License-Identifier: Apache-2.0
# Filled by the install rules.
